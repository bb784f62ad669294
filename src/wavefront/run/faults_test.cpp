// SPDX-License-Identifier: BSD-3-Clause
//
// A disk that fails, tears, flips bits or answers out of order: the data of the
// last whole pass stay, and the strip at fault is named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <random>

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
        const Shape shape{.rows = 90,
                          .columns = 40,
                          .coefficient_count = 5,
                          .layout = Layout::skewed,
                          .strip_rows = 8};
        auto store = Store::create(folder_ / "s", shape, {"u", "a", "b", "c", "d", "e"}, {});
        ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
        store_.emplace(std::move(*store));
        kernel_ = *make_kernel("livermore23", {}, Element::f64, Layout::skewed);
        before_ = testing::load<double>(*store_).values;
    }

    Result<RunReport> run_with(Fault fault, std::uint64_t at, std::uint64_t iterations = 3) {
        RunOptions options;
        options.iterations = iterations;
        options.threads = 2;
        options.wrap_queue = [=](std::unique_ptr<DiskQueue> queue) {
            return std::make_unique<FaultyQueue>(std::move(queue), fault, at);
        };
        return run(*store_, kernel_, options);
    }

    void expect_untouched() {
        EXPECT_EQ(testing::load<double>(*store_).values, before_);
        EXPECT_TRUE(verify(*store_)->empty());
        EXPECT_EQ(store_->manifest().iterations, 0u);
    }

    Folder folder_{Medium::memory};
    std::optional<Store> store_;
    Kernel kernel_;
    std::vector<std::vector<double>> before_;
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

TEST_F(FaultsTest, TransfersThatEndInAnyOrderGiveTheSameBits) {
    auto expected = testing::load<double>(*store_);
    for (int i = 0; i < 12; ++i) testing::livermore23(expected);

    for (std::uint64_t seed = 0; seed < 4; ++seed) ASSERT_TRUE(run_with(Fault::disorder, seed, 3));

    EXPECT_EQ(testing::load<double>(*store_).values[0], expected.values[0]);
}

}  // namespace
}  // namespace lanewise::wavefront
