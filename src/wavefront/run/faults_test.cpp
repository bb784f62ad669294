// SPDX-License-Identifier: BSD-3-Clause
//
// A disk that fails, tears, flips bits or answers out of order: the data of the
// last whole pass stay, and the strip or tile at fault is named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::Medium;

enum class Fault { none, failed_read, failed_write, full_disk, torn_write, flipped_bit, disorder };

// Passes transfers on, but for the fault at the `at`-th read or write.
class FaultyQueue final : public DiskQueue {
  public:
    FaultyQueue(std::unique_ptr<DiskQueue> queue, Fault fault, std::uint64_t at)
        : queue_(std::move(queue)), fault_(fault), at_(at), random_(at) {}

    void submit(const Transfer& transfer) override {
        const bool reads = transfer.direction == Transfer::Direction::read;
        auto& count = reads ? reads_ : writes_;
        const bool here = count++ == at_;
        Transfer sent = transfer;
        if (here && !reads && fault_ == Fault::torn_write) sent.bytes /= 2;
        if (here && concerns(transfer.direction)) struck_[transfer.tag] = transfer;
        queue_->submit(sent);
    }

    std::optional<Completion> wait() override {
        if (fault_ == Fault::disorder) return wait_in_disorder();
        auto completion = queue_->wait();
        if (!completion) return completion;
        const auto struck = struck_.find(completion->tag);
        if (struck == struck_.end()) return completion;
        if (fault_ == Fault::flipped_bit) struck->second.memory[100] ^= std::byte{4};
        if (fault_ == Fault::failed_read || fault_ == Fault::failed_write) completion->error = EIO;
        if (fault_ == Fault::full_disk) completion->error = ENOSPC;
        struck_.erase(struck);
        return completion;
    }

    void wake() override { queue_->wake(); }
    const char *name() const override { return "faulty"; }

  private:
    bool concerns(Transfer::Direction direction) const {
        const bool reads = direction == Transfer::Direction::read;
        return reads == (fault_ == Fault::failed_read || fault_ == Fault::flipped_bit);
    }

    // Holds up to four completions and gives back a random one of them: some transfers are slow.
    std::optional<Completion> wait_in_disorder() {
        while (held_.size() < 4) {
            // What is held must not wait for a completion that may never come.
            if (!held_.empty()) queue_->wake();
            const auto completion = queue_->wait();
            if (!completion) break;
            held_.push_back(*completion);
        }
        if (held_.empty()) return std::nullopt;
        const auto i = random_() % held_.size();
        const auto given = held_[i];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
        return given;
    }

    std::unique_ptr<DiskQueue> queue_;
    Fault fault_;
    std::uint64_t at_;
    std::mt19937_64 random_;
    std::uint64_t reads_ = 0;
    std::uint64_t writes_ = 0;
    std::map<std::uint64_t, Transfer> struck_;
    std::vector<Completion> held_;
};

class FaultsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        fill({.rows = 90,
              .columns = 40,
              .coefficient_count = 5,
              .layout = &layouts::skewed,
              .strip_rows = 8});
    }

    void fill(const MatrixShape& shape) {
        auto store = Store::create(folder_ / "s", shape, {"u", "a", "b", "c", "d", "e"}, {});
        ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
        store_.emplace(std::move(*store));
        kernel_ = *make_kernel("livermore23", {}, Element::f64, &layouts::skewed);
        before_ = testing::load<double>(*store_).values;
    }

    using WrapQueue = decltype(RunOptions::wrap_queue);
    Result<RunReport> run_through(WrapQueue wrap_queue, std::uint64_t iterations) {
        RunOptions options;
        options.iterations = iterations;
        options.threads = 2;
        options.parallelogram_vectors = parallelogram_vectors_;
        options.wrap_queue = std::move(wrap_queue);
        return run(*store_, kernel_, options);
    }

    Result<RunReport> run_with(Fault fault, std::uint64_t at, std::uint64_t iterations = 3) {
        return run_through(
            [=](std::unique_ptr<DiskQueue> queue) {
                return std::make_unique<FaultyQueue>(std::move(queue), fault, at);
            },
            iterations);
    }

    Result<RunReport> run_with_calls(const FileCalls& calls, std::uint64_t iterations) {
        return run_through(
            [=](std::unique_ptr<DiskQueue> /*queue*/) {
                return std::move(*make_thread_queue(calls));
            },
            iterations);
    }

    Result<RunReport> run_on_ring(const RingCalls& calls, std::uint64_t iterations) {
        return run_through(
            [=](std::unique_ptr<DiskQueue> /*queue*/) {
                auto queue = make_uring_queue(calls);
                EXPECT_TRUE(queue) << queue.failure().sentence;
                return std::move(queue ? *queue : *make_thread_queue());
            },
            iterations);
    }

    void expect_untouched() {
        EXPECT_EQ(testing::load<double>(*store_).values, before_);
        EXPECT_TRUE(verify(*store_)->empty());
        EXPECT_EQ(store_->manifest().iterations, 0u);
    }

    Folder folder_{Medium::memory};
    std::optional<Store> store_;
    Kernel kernel_;
    std::uint64_t parallelogram_vectors_ = 0;
    std::vector<std::vector<double>> before_;
};

// On rings whose calls fail.
class FaultyRingTest : public FaultsTest {
  protected:
    void SetUp() override {
        const auto queue = make_uring_queue();
        if (!queue) GTEST_SKIP() << queue.failure().sentence;
        FaultsTest::SetUp();
    }

    void expect_bits_of(std::uint64_t iterations, const RingCalls& calls) {
        auto expected = testing::load<double>(*store_);
        for (std::uint64_t i = 0; i < iterations; ++i) testing::livermore23(expected);

        const auto report = run_on_ring(calls, iterations);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_EQ(testing::load<double>(*store_).values[0], expected.values[0]);
    }
};

// The same over narrow parallelograms of tiles.
class FaultsInParallelogramsTest : public FaultsTest {
  protected:
    void SetUp() override {
        fill({.rows = 40,
              .columns = 130,
              .coefficient_count = 5,
              .layout = &layouts::row_major,
              .strip_rows = 8,
              .tile_columns = 16});
        parallelogram_vectors_ = 16;
    }
};

TEST_F(FaultsTest, AFailedReadNamesTheStripAndLeavesTheData) {
    for (const std::uint64_t at : {0u, 13u, 71u}) {
        const auto report = run_with(Fault::failed_read, at);

        ASSERT_FALSE(report);
        EXPECT_THAT(report.failure().sentence,
                    HasSubstr("reading strip " + std::to_string(at / 6)));
        expect_untouched();
    }
}

TEST_F(FaultsTest, AFailedWriteNamesTheStripAndLeavesTheData) {
    for (const auto& [fault, reason] : {std::pair{Fault::failed_write, "Input/output error"},
                                        std::pair{Fault::full_disk, "No space left"}}) {
        const auto report = run_with(fault, 4);

        ASSERT_FALSE(report);
        EXPECT_THAT(report.failure().sentence, HasSubstr("writing strip 4"));
        EXPECT_THAT(report.failure().sentence, HasSubstr(reason));
        expect_untouched();
    }
}

TEST_F(FaultsTest, ABitThatFlipsOnTheWayInIsFound) {
    const auto report = run_with(Fault::flipped_bit, 20);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("strip 3 (rows from 24) of b"));
    EXPECT_THAT(report.failure().sentence, HasSubstr("checksum"));
    expect_untouched();
}

TEST_F(FaultsTest, AFileThatEndsTooEarlyIsNamedByEitherQueue) {
    std::filesystem::resize_file(folder_ / "s/c.a.0", 11 * strip_bytes(store_->shape()));
    for (const auto kind : {QueueKind::automatic, QueueKind::threads}) {
        RunOptions options;
        options.queue = kind;

        const auto report = run(*store_, kernel_, options);

        ASSERT_FALSE(report);
        EXPECT_THAT(report.failure().sentence, HasSubstr("reading strip 11 (rows from 88) of c"));
        EXPECT_EQ(store_->manifest().iterations, 0u);
    }
}

TEST_F(FaultsTest, AWriteThatWasTornSilentlyIsFoundByTheNextPass) {
    ASSERT_TRUE(run_with(Fault::torn_write, 5));

    const auto report = run_with(Fault::none, 0);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("strip 5 (rows from 40) of u"));
    const auto damaged = verify(*store_);
    ASSERT_EQ(damaged->size(), 1u);
    EXPECT_THAT(damaged->front(), HasSubstr("strip 5 (rows from 40) of u"));
}

// Answers of a file: interrupted, busy, or short by any number of bytes; all there in the end.
class Stutter {
  public:
    explicit Stutter(std::uint64_t seed) : random_(seed) {}
    /* How many of `bytes` to move; -1 and errno: none. */
    ssize_t next(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto kind = random_() % 6;
        errno = kind == 0 ? EINTR : EAGAIN;
        if (kind < 2) return -1;
        if (kind > 3 || bytes <= disk_block_bytes) return static_cast<ssize_t>(bytes);
        return static_cast<ssize_t>(disk_block_bytes + random_() % (bytes - disk_block_bytes));
    }

  private:
    std::mutex mutex_;
    std::mt19937_64 random_;
};

TEST(DiskQueueTest, AStripOfLittleMoreThanAMebibyteIsOneRequest) {
    const Folder folder(Medium::memory);
    MatrixShape shape{.rows = 4096, .columns = 4096, .layout = &layouts::skewed};
    shape.strip_rows = default_strip_rows(shape);
    const auto bytes = strip_bytes(shape);
    ASSERT_GT(bytes, std::uint64_t{1} << 20);
    auto memory = Memory::reserve(bytes);
    ASSERT_TRUE(memory);
    std::vector<std::size_t> requests;
    auto calls = system_calls();
    calls.write = [&](int, const std::byte *, std::size_t count, std::uint64_t) {
        requests.push_back(count);
        return static_cast<ssize_t>(count);
    };
    const auto queue = std::move(*make_thread_queue(calls));

    queue->submit({.direction = Transfer::Direction::write,
                   .file = 0,
                   .memory = memory->begin(),
                   .bytes = bytes});
    const auto completion = queue->wait();

    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->error, 0);
    EXPECT_EQ(requests, std::vector<std::size_t>{bytes});
}

// How many transfers of a mebibyte, of 40, a ring of so many disks offers the kernel at a time.
std::size_t offered_of_40(std::uint64_t disks) {
    auto memory = Memory::reserve(piece_bytes);
    EXPECT_TRUE(memory);
    auto calls = ring_calls();
    auto entries = std::make_shared<std::size_t>(0);
    calls.entry = [=, entry = calls.entry](io_uring *ring) {
        ++*entries;
        return entry(ring);
    };
    // Only once, so that the ring is taken.
    calls.submit = [first = true, submit = calls.submit](io_uring *ring) mutable {
        return std::exchange(first, false) ? submit(ring) : -EAGAIN;
    };
    const auto queue = make_uring_queue(calls, disks);
    if (!queue) return 0;
    const auto before = *entries;
    for (std::uint64_t tag = 0; tag < 40; ++tag)
        (*queue)->submit({.file = 0, .memory = memory->begin(), .bytes = piece_bytes, .tag = tag});
    return *entries - before;
}

TEST(DiskQueueTest, NoMoreIsUnderWayThanKeepsTheDisksBusy) {
    if (!make_uring_queue()) GTEST_SKIP() << "io_uring is not available";

    EXPECT_EQ(offered_of_40(1), 8u);
    EXPECT_EQ(offered_of_40(3), 24u);
}

// Strips that a run has in memory over a store on its own folder and so many other disks.
std::uint64_t buffers_on(const std::vector<std::string>& others) {
    const Folder folder(Medium::memory);
    std::vector<std::string> disks;
    for (const auto& other : others) disks.push_back(folder / other);
    const MatrixShape shape{.rows = 1024,
                            .columns = 8192,
                            .coefficient_count = 1,
                            .layout = &layouts::row_major,
                            .strip_rows = 32};
    const auto store = Store::create(folder / "store", shape, {"u", "f"}, disks);
    const auto kernel = make_kernel_for("jacobi", {}, shape);
    EXPECT_TRUE(store && kernel);
    const auto plan = plan_run(*store, *kernel, {.waves = 1, .rates = {}});
    EXPECT_TRUE(plan);
    return plan ? plan->buffers : 0;
}

TEST(DiskQueueTest, MoreStripsAreInTransferOfAStoreOnTwoDisks) {
    // The strips of both matrices have 4 MiB together, and a disk is kept busy by 8.
    EXPECT_EQ(buffers_on({"second"}), buffers_on({}) + 2);
}

FileCalls stuttering(std::uint64_t seed) {
    const auto system = system_calls();
    auto stutter = std::make_shared<Stutter>(seed);
    return {.read =
                [=](int file, std::byte *to, std::size_t bytes, std::uint64_t offset) {
                    const auto now = stutter->next(bytes);
                    if (now < 0) return now;
                    // What a short read leaves behind its end is anything.
                    const auto got = system.read(file, to, bytes, offset);
                    std::memset(to + now, 0x55, bytes - static_cast<std::size_t>(now));
                    return std::min(now, got);
                },
            .write =
                [=](int file, const std::byte *from, std::size_t bytes, std::uint64_t offset) {
                    const auto now = stutter->next(bytes);
                    const auto whole = static_cast<std::size_t>(now) / disk_block_bytes;
                    return now < 0 ? now
                                   : system.write(file, from, whole * disk_block_bytes, offset);
                }};
}

TEST_F(FaultsTest, TransfersThatStopShortAreGoneOnWith) {
    auto expected = testing::load<double>(*store_);
    for (int i = 0; i < 9; ++i) testing::livermore23(expected);

    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const auto report = run_with_calls(stuttering(seed), 3);
        ASSERT_TRUE(report) << report.failure().sentence;
    }

    EXPECT_EQ(testing::load<double>(*store_).values[0], expected.values[0]);
    EXPECT_TRUE(verify(*store_)->empty());
}

TEST_F(FaultsInParallelogramsTest, TransfersThatStopShortOrEndInAnyOrderGiveTheSameBits) {
    auto expected = testing::load<double>(*store_);
    for (int i = 0; i < 12; ++i) testing::livermore23(expected);

    for (std::uint64_t seed = 0; seed < 2; ++seed) {
        ASSERT_TRUE(run_with_calls(stuttering(seed), 3));
        ASSERT_TRUE(run_with(Fault::disorder, seed, 3));
    }

    EXPECT_EQ(testing::load<double>(*store_).values[0], expected.values[0]);
}

TEST_F(FaultsInParallelogramsTest, ATransferThatFailsIsNamedAndTheDataStay) {
    for (const std::uint64_t at : {0u, 9u, 31u, 60u}) {
        const auto unread = run_with(Fault::failed_read, at);
        ASSERT_FALSE(unread);
        EXPECT_THAT(unread.failure().sentence, HasSubstr("strip "));
        expect_untouched();
        const auto unwritten = run_with(Fault::full_disk, at / 2);
        ASSERT_FALSE(unwritten);
        EXPECT_THAT(unwritten.failure().sentence, HasSubstr("No space left"));
        expect_untouched();
    }
}

// Tiles and what is carried over from parallelogram to parallelogram alike.
TEST_F(FaultsInParallelogramsTest, ABitThatFlipsOnTheWayInIsFound) {
    for (std::uint64_t at = 0; at < 60; at += 4) {
        const auto report = run_with(Fault::flipped_bit, at);

        ASSERT_FALSE(report);
        EXPECT_THAT(report.failure().sentence, HasSubstr("the checksum is wrong"));
        expect_untouched();
    }
}

TEST_F(FaultsTest, ACallThatFailsNamesTheStripAndLeavesTheData) {
    auto calls = system_calls();
    const auto offset_at_fault = 7 * strip_bytes(store_->shape());
    calls.write = [=, write = calls.write](int file, const std::byte *from, std::size_t bytes,
                                           std::uint64_t offset) -> ssize_t {
        errno = EDQUOT;
        return offset == offset_at_fault ? -1 : write(file, from, bytes, offset);
    };

    const auto report = run_with_calls(calls, 3);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("writing strip 7 (rows from 56) of u"));
    EXPECT_THAT(report.failure().sentence, HasSubstr("quota exceeded"));
    expect_untouched();
}

TEST_F(FaultyRingTest, ARingThatIsRefusedForAWhileGivesTheSameBits) {
    auto calls = ring_calls();
    auto asked = std::make_shared<std::atomic<int>>(0);
    calls.submit = [=, submit = calls.submit](io_uring *ring) {
        constexpr int refused[] = {-EAGAIN, -EBUSY, -EINTR, -ENOMEM};
        const int now = (*asked)++;
        return now % 3 == 0 ? submit(ring) : refused[now % 4];
    };
    calls.wait = [=, wait = calls.wait](io_uring *ring, io_uring_cqe **cqe) {
        return (*asked)++ % 2 == 0 ? -EINTR : wait(ring, cqe);
    };

    expect_bits_of(3, calls);
}

TEST_F(FaultyRingTest, ARingWithoutEntriesForAWhileGivesTheSameBits) {
    auto calls = ring_calls();
    auto asked = std::make_shared<std::atomic<int>>(0);
    calls.entry = [=, entry = calls.entry](io_uring *ring) {
        return (*asked)++ % 3 == 0 ? entry(ring) : nullptr;
    };

    expect_bits_of(3, calls);
}

TEST_F(FaultyRingTest, ACallOnTheRingThatFailsIsNamedAndTheDataStay) {
    for (const int at : {1, 8, 40}) {
        auto calls = ring_calls();
        auto asked = std::make_shared<std::atomic<int>>(0);
        const bool submits = at != 8;
        const std::string failing = submits ? "io_uring_submit" : "io_uring_wait_cqe";
        if (submits)
            calls.submit = [=, submit = calls.submit](io_uring *ring) {
                return (*asked)++ < at ? submit(ring) : -EBADR;
            };
        else
            calls.wait = [=, wait = calls.wait](io_uring *ring, io_uring_cqe **cqe) {
                return (*asked)++ < at ? wait(ring, cqe) : -EBADR;
            };

        const auto report = run_on_ring(calls, 3);

        ASSERT_FALSE(report);
        EXPECT_THAT(report.failure().sentence, HasSubstr("ing strip "));
        EXPECT_THAT(report.failure().sentence,
                    HasSubstr(failing + " failed: Invalid request descriptor"));
        expect_untouched();
    }
}

TEST_F(FaultyRingTest, ARingThatIsRefusedForGoodEndsTheRun) {
    auto calls = ring_calls();
    auto asked = std::make_shared<std::atomic<int>>(0);
    calls.submit = [=, submit = calls.submit](io_uring *ring) {
        return (*asked)++ < 9 ? submit(ring) : -EAGAIN;
    };

    const auto report = run_on_ring(calls, 3);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("io_uring_submit failed"));
    expect_untouched();
}

TEST_F(FaultyRingTest, ARingThatFailsAtOnceIsNotTaken) {
    auto calls = ring_calls();
    calls.submit = [](io_uring *) { return -EPERM; };

    const auto queue = make_uring_queue(calls);

    ASSERT_FALSE(queue);
    EXPECT_EQ(queue.failure().status, LW_ERR_UNSUPPORTED);
    EXPECT_THAT(queue.failure().sentence, HasSubstr("Operation not permitted"));
}

TEST_F(FaultyRingTest, ABrokenRingIsStillWoken) {
    auto calls = ring_calls();
    auto asked = std::make_shared<std::atomic<int>>(0);
    calls.submit = [=, submit = calls.submit](io_uring *ring) {
        return (*asked)++ < 2 ? submit(ring) : -EBADR;
    };
    const auto queue = make_uring_queue(calls);
    ASSERT_TRUE(queue);
    std::byte byte{};

    // Waking is a read in the ring, which is asked for again and is then refused.
    (*queue)->wake();
    EXPECT_FALSE((*queue)->wait());
    (*queue)->wake();
    EXPECT_FALSE((*queue)->wait());
    (*queue)->wake();
    EXPECT_FALSE((*queue)->wait());
    (*queue)->submit({.file = 0, .memory = &byte, .bytes = 1, .tag = 7});
    const auto completion = (*queue)->wait();

    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->tag, 7u);
    EXPECT_EQ(completion->error, EBADR);
}

// The first read of strip 3 is answered only after four strips' worth of others: waves wait.
TEST_F(FaultsTest, ASlowTransferHoldsUpNothingButWhatNeedsIt) {
    auto expected = testing::load<double>(*store_);
    for (int i = 0; i < 3; ++i) testing::livermore23(expected);
    auto calls = system_calls();
    const auto slow_offset = 3 * strip_bytes(store_->shape());
    auto others = std::make_shared<std::atomic<int>>(0);
    auto first = std::make_shared<std::atomic<bool>>(true);
    calls.read = [=, read = calls.read](int file, std::byte *to, std::size_t bytes,
                                        std::uint64_t offset) {
        if (offset == slow_offset && first->exchange(false)) {
            for (auto seen = others->load(); seen < 24; seen = others->load()) others->wait(seen);
        } else {
            others->fetch_add(1);
            others->notify_all();
        }
        return read(file, to, bytes, offset);
    };

    const auto report = run_with_calls(calls, 3);

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_EQ(testing::load<double>(*store_).values[0], expected.values[0]);
}

TEST_F(FaultsTest, TransfersThatEndInAnyOrderGiveTheSameBits) {
    auto expected = testing::load<double>(*store_);
    for (int i = 0; i < 12; ++i) testing::livermore23(expected);

    for (std::uint64_t seed = 0; seed < 4; ++seed) ASSERT_TRUE(run_with(Fault::disorder, seed, 3));

    EXPECT_EQ(testing::load<double>(*store_).values[0], expected.values[0]);
}

}  // namespace
}  // namespace lanewise::wavefront
