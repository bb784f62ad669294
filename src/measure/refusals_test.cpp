// SPDX-License-Identifier: BSD-3-Clause
//
// What bad input gets: the same status on every rank, outputs untouched, and
// one sentence on rank 0 that names the value and the remedy.

#include <lanewise/fortran.h>
#include <lanewise/measure.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::Communicator;
using ::testing::ElementsAre;
using testing::fixed_repetitions;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Listener;
using testing::Operation;
using testing::operation_named;
using testing::rank_of;
using testing::size_of;

// An output that no refused call may change.
lw_samples *const untouched = reinterpret_cast<lw_samples *>(&rank_of);

/* One refused call: what came back and what was said. */
struct Refusal {
    lw_status status = LW_OK;
    lw_samples *output = untouched;
    Listener listener;
};

using Call = std::function<lw_status(const lw_measure_options&, lw_samples **)>;

Refusal refuse(lw_measure_options options, const Call& call) {
    Refusal refusal;
    refusal.listener.listen(options);
    refusal.status = call(options, &refusal.output);
    return refusal;
}

void expect_refusal(const Refusal& refusal, lw_status status, const std::string& words) {
    EXPECT_EQ(refusal.status, status);
    EXPECT_EQ(refusal.output, untouched);
    if (rank_of(MPI_COMM_WORLD) == 0) {
        EXPECT_THAT(refusal.listener.statuses, ElementsAre(status));
        EXPECT_THAT(refusal.listener.sentences, ElementsAre(HasSubstr(words)));
    } else {
        EXPECT_TRUE(refusal.listener.sentences.empty());
    }
}

lw_status measure_bytes(const char *name, int root, std::uint64_t bytes,
                        const lw_measure_options& options, lw_samples **samples) {
    const auto operation = operation_named(name);
    return lw_measure(MPI_COMM_WORLD, operation.get(), root, &bytes, 1, &options, samples);
}

Refusal refuse_options(const std::function<void(lw_measure_options&)>& spoil) {
    auto options = fixed_repetitions(2);
    spoil(options);
    return refuse(options, [](const lw_measure_options& spoilt, lw_samples **samples) {
        return measure_bytes("bcast", 0, 8, spoilt, samples);
    });
}

TEST(Refusals, OptionsOutOfRangeNameTheValueAndTheRemedy) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    using O = lw_measure_options;
    const std::pair<std::function<void(O&)>, const char *> spoils[] = {
        {[](O& o) { o.confidence = 0.0; }, "outside (0, 1)"},
        {[](O& o) { o.confidence = 1.0; }, "outside (0, 1)"},
        {[](O& o) { o.confidence = 95.0; }, "95 % is 0.95"},
        {[](O& o) { o.confidence = nan; }, "outside (0, 1)"},
        {[](O& o) { o.error = 0.0; }, "2.5 % is 0.025"},
        {[](O& o) { o.error = -0.1; }, "2.5 % is 0.025"},
        {[](O& o) { o.error = nan; }, "2.5 % is 0.025"},
        {[](O& o) { o.error = std::numeric_limits<double>::infinity(); }, "2.5 % is 0.025"},
        {[](O& o) { o.repetitions_min = 0; }, "at least 1"},
        {[](O& o) { o.repetitions_min = 20; }, "20 repetitions is above the maximum of 2"},
        {[](O& o) { o.pipeline_length = 0; }, "pipeline of 0"},
        {[](O& o) { o.time_limit_s = -1.0; }, "0 is none"},
        {[](O& o) { o.time_limit_s = nan; }, "0 is none"},
        {[](O& o) { o.time_limit_s = std::numeric_limits<double>::infinity(); }, "0 is none"},
        {[](O& o) { o.resync_s = 0.0; }, "time"},
        {[](O& o) { o.skew_offset_s = nan; }, "an offset of nan"},
        {[](O& o) { o.skew_drift = -1.0; }, "does not go forward; name a number above -1"},
        {[](O& o) { o.skew_drift = nan; }, "does not go forward"},
    };
    for (const auto& [spoil, words] : spoils) {
        SCOPED_TRACE(words);
        expect_refusal(refuse_options(spoil), LW_ERR_ARGUMENT, words);
    }
}

// Options at the end of what may be read, of which there is nothing but their size.
class ShortOptions {
  public:
    ShortOptions()
        : page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          pages_(mmap(nullptr, 2 * page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0)) {
        const std::uint32_t struct_size = room_bytes;
        std::memcpy(start(), &struct_size, sizeof struct_size);
        mprotect(static_cast<std::byte *>(pages_) + page_bytes_, page_bytes_, PROT_NONE);
    }
    ~ShortOptions() { munmap(pages_, 2 * page_bytes_); }
    ShortOptions(const ShortOptions&) = delete;
    ShortOptions& operator=(const ShortOptions&) = delete;

    const lw_measure_options *get() const {
        return static_cast<const lw_measure_options *>(start());
    }

  private:
    static constexpr std::uint32_t room_bytes = alignof(lw_measure_options);

    void *start() const { return static_cast<std::byte *>(pages_) + page_bytes_ - room_bytes; }

    std::size_t page_bytes_;
    void *pages_;
};

TEST(Refusals, NothingIsReadOfOptionsButTheirSizeIfThatIsAnother) {
    const ShortOptions options;
    const auto operation = operation_named("bcast");
    const std::uint64_t bytes[2] = {8, 16};
    const MPI_Comm world = MPI_COMM_WORLD;
    const auto *o = operation.get();
    lw_samples *samples = untouched;
    lw_clock_report report = LW_CLOCK_REPORT;

    EXPECT_EQ(lw_measure(world, o, 0, bytes, 2, options.get(), &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_fortran(MPI_Comm_c2f(world), o, 0, bytes, 2, options.get(), &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_curve(world, o, 0, bytes, 2, 8, 0.1, options.get(), &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_pairs(world, 8, 8, LW_ORDER_PARALLEL, options.get(), &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_triplets(world, 8, 8, LW_ORDER_PARALLEL, options.get(), &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_clock(world, 0.0, options.get(), &report), LW_ERR_ARGUMENT);
    EXPECT_EQ(samples, untouched);
}

TEST(Refusals, NoReportIsCalledOfOptionsOfAnotherSize) {
    auto options = fixed_repetitions(2);
    options.struct_size = 7;

    const auto refusal = refuse(options, [](const auto& given, lw_samples **samples) {
        return measure_bytes("bcast", 0, 8, given, samples);
    });

    EXPECT_EQ(refusal.status, LW_ERR_ARGUMENT);
    EXPECT_THAT(refusal.listener.sentences, IsEmpty());
}

TEST(Refusals, OptionsOfAnotherSizeOnAnotherRankAreToldOnRankZero) {
    const int last = size_of(MPI_COMM_WORLD) - 1;
    if (last == 0) GTEST_SKIP() << "one rank has no other";
    auto options = fixed_repetitions(2);
    if (rank_of(MPI_COMM_WORLD) == last) options.struct_size = 7;

    const auto refusal = refuse(options, [](const auto& given, lw_samples **samples) {
        return measure_bytes("bcast", 0, 8, given, samples);
    });

    expect_refusal(refusal, LW_ERR_ARGUMENT, "begin with LW_MEASURE_OPTIONS");
}

TEST(Refusals, AWaitWithoutEndIsNamed) {
    const auto untouched_report = lw_clock_report{sizeof(lw_clock_report), -1, -1, -1, -1};
    for (const double wait_s : {-1.0, 1e10, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()}) {
        auto report = untouched_report;
        const auto refusal = refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **) {
            return lw_measure_clock(MPI_COMM_WORLD, wait_s, &options, &report);
        });

        expect_refusal(refusal, LW_ERR_ARGUMENT, "name a time from 0 to 1e9 s");
        EXPECT_EQ(report.residual_s, -1);
    }
}

// A C program can store any number in an enumeration. Sanitizers stop a C++ program that does.
#ifndef LANEWISE_SANITIZES_ADDRESSES
template <typename Enumeration>
void store(int number, Enumeration& field) {
    static_assert(sizeof number == sizeof field);
    std::memcpy(&field, &number, sizeof field);
}

TEST(Refusals, MethodsThatDoNotExistNameThoseThatDo) {
    using O = lw_measure_options;
    const std::pair<std::function<void(O&)>, const char *> spoils[] = {
        {[](O& o) { store(99, o.timing); }, "max, root, global or tasks"},
        {[](O& o) { store(-1, o.start); }, "round-time"},
        {[](O& o) { store(99, o.clock); }, "monotonic"},
        {[](O& o) { store(99, o.rule); }, "median or student"},
    };
    for (const auto& [spoil, words] : spoils) {
        SCOPED_TRACE(words);
        expect_refusal(refuse_options(spoil), LW_ERR_ARGUMENT, words);
    }
}
#endif

TEST(Refusals, ARootOutsideTheCommunicatorIsNamed) {
    const int size = size_of(MPI_COMM_WORLD);
    for (const int root : {-1, size, 1'000'000}) {
        const auto refusal =
            refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **samples) {
                return measure_bytes("scatter", root, 8, options, samples);
            });

        expect_refusal(refusal, LW_ERR_ARGUMENT, "root " + std::to_string(root));
    }
}

TEST(Refusals, AnIntercommunicatorIsToldToBeMerged) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "two groups need two ranks";
    const int rank = rank_of(MPI_COMM_WORLD);
    const Communicator group(testing::split_of(MPI_COMM_WORLD, rank % 2));
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Intercomm_create(group.get(), 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 0, &both);
    const Communicator between(both);
    const auto operation = operation_named("bcast");
    const std::uint64_t bytes = 8;

    const auto refusal =
        refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **samples) {
            return lw_measure(between.get(), operation.get(), 0, &bytes, 1, &options, samples);
        });

    EXPECT_EQ(refusal.status, LW_ERR_ARGUMENT);
    EXPECT_EQ(refusal.output, untouched);
    if (rank == 0) {
        EXPECT_THAT(refusal.listener.sentences, ElementsAre(HasSubstr("Intercomm_merge")));
    }
}

TEST(Refusals, TheNullCommunicatorIsNamed) {
    const auto operation = operation_named("bcast");
    const std::uint64_t bytes = 8;

    const auto refusal =
        refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **samples) {
            return lw_measure(MPI_COMM_NULL, operation.get(), 0, &bytes, 1, &options, samples);
        });

    EXPECT_EQ(refusal.status, LW_ERR_ARGUMENT);
    EXPECT_EQ(refusal.output, untouched);
}

TEST(Refusals, NullsAreArgumentsThatCannotBeUsed) {
    const auto operation = operation_named("bcast");
    const auto options = fixed_repetitions(2);
    const std::uint64_t bytes[2] = {8, 16};
    lw_samples *samples = untouched;
    const auto *o = operation.get();
    const MPI_Comm world = MPI_COMM_WORLD;

    EXPECT_EQ(lw_measure(world, nullptr, 0, bytes, 1, &options, &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure(world, o, 0, nullptr, 1, &options, &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure(world, o, 0, bytes, 1, nullptr, &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure(world, o, 0, bytes, 1, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_curve(world, nullptr, 0, bytes, 2, 8, 0.1, &options, &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_pairs(world, 8, 8, LW_ORDER_PARALLEL, nullptr, &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_triplets(world, 8, 8, LW_ORDER_PARALLEL, &options, nullptr),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_clock(world, 0.0, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(samples, untouched);
}

TEST(Refusals, WhatOneRankMayNotPassNoRankMeasures) {
    const int last = size_of(MPI_COMM_WORLD) - 1;
    const auto operation = operation_named("bcast");
    const std::uint64_t bytes[2] = {8, 16};
    const bool is_last = rank_of(MPI_COMM_WORLD) == last;
    const auto *mine = is_last ? nullptr : operation.get();
    using Measure = std::function<lw_status(const lw_measure_options *, lw_samples **)>;
    const Measure calls[] = {
        [&](const auto *options, lw_samples **samples) {
            return lw_measure(MPI_COMM_WORLD, mine, 0, bytes, 2, options, samples);
        },
        [&](const auto *options, lw_samples **samples) {
            return lw_measure(MPI_COMM_WORLD, operation.get(), 0, bytes, 2,
                              is_last ? nullptr : options, samples);
        },
        [&](const auto *options, lw_samples **samples) {
            return lw_measure_curve(MPI_COMM_WORLD, mine, 0, bytes, 2, 8, 0.1, options, samples);
        },
        [&](const auto *options, lw_samples **samples) {
            return lw_measure_pairs(MPI_COMM_WORLD, 8, 8, LW_ORDER_PARALLEL, options,
                                    is_last ? nullptr : samples);
        },
    };

    for (const Measure& call : calls) {
        const auto refusal = refuse(
            fixed_repetitions(2),
            [&](const auto& options, lw_samples **samples) { return call(&options, samples); });

        EXPECT_EQ(refusal.status, LW_ERR_ARGUMENT);
        EXPECT_EQ(refusal.output, untouched);
        if (rank_of(MPI_COMM_WORLD) != 0 || last == 0) continue;
        const std::string who = "rank " + std::to_string(last) + ": ";
        EXPECT_THAT(refusal.listener.sentences, ElementsAre(HasSubstr(who)));
    }
}

TEST(Refusals, ArgumentsThatDifferBetweenRanksMeasureNothing) {
    const int last = size_of(MPI_COMM_WORLD) - 1;
    if (last == 0) GTEST_SKIP() << "one rank has nobody to differ from";
    const auto is_last = static_cast<unsigned>(rank_of(MPI_COMM_WORLD) == last);
    const auto operation = operation_named("bcast");
    const auto other = operation_named("allreduce");
    const std::uint64_t bytes[2] = {8 + 8 * std::uint64_t{is_last}, 16};
    const auto same = fixed_repetitions(2);
    auto longer = fixed_repetitions(2 + is_last);
    lw_samples *samples = untouched;
    const MPI_Comm world = MPI_COMM_WORLD;
    const auto *o = operation.get();

    EXPECT_EQ(lw_measure(world, o, 0, bytes, 2, &same, &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure(world, o, 0, bytes + 1, 1, &longer, &samples), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure(world, o, static_cast<int>(is_last), bytes + 1, 1, &same, &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure(world, is_last ? other.get() : o, 0, bytes + 1, 1, &same, &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_measure_pairs(world, 8, bytes[0], LW_ORDER_PARALLEL, &same, &samples),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(samples, untouched);

    const auto refusal = refuse(longer, [&](const auto& options, lw_samples **into) {
        return lw_measure(world, o, 0, bytes + 1, 1, &options, into);
    });
    expect_refusal(refusal, LW_ERR_ARGUMENT, "pass the same on every rank");
}

TEST(Refusals, ASizeThatFloatsCannotFillIsNamed) {
    const auto refusal =
        refuse(fixed_repetitions(2), [](const auto& options, lw_samples **samples) {
            return measure_bytes("allreduce", 0, 10, options, samples);
        });

    expect_refusal(refusal, LW_ERR_ARGUMENT, "multiple of 4");
}

TEST(Refusals, ACountBeyondTheMpiNamesTheLimit) {
    const auto refusal =
        refuse(fixed_repetitions(2), [](const auto& options, lw_samples **samples) {
            return measure_bytes("allreduce", 0, std::uint64_t{1} << 40, options, samples);
        });

    expect_refusal(refusal, LW_ERR_LIMIT, "INT_MAX");
}

TEST(Refusals, ASizeBeyondTheMemoryIsRefusedBeforeItIsAllocated) {
    const auto refusal =
        refuse(fixed_repetitions(2), [](const auto& options, lw_samples **samples) {
            return measure_bytes("bcast", 0, std::uint64_t{1} << 46, options, samples);
        });

    expect_refusal(refusal, LW_ERR_LIMIT, "choose a smaller size");
}

TEST(Refusals, AreToldHowMuchMemoryIsNeeded) {
    const auto refusal =
        refuse(fixed_repetitions(2), [](const auto& options, lw_samples **samples) {
            return measure_bytes("bcast", 0, std::uint64_t{1} << 46, options, samples);
        });

    expect_refusal(refusal, LW_ERR_LIMIT, "needs 65536 GiB of memory in a rank where ");
}

TEST(Refusals, MessagesOfPairsBeyondTheMemoryAreRefusedBeforeTheyAreAllocated) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "a pair needs two ranks";
    constexpr std::uint64_t large = std::uint64_t{1} << 45;
    for (const std::uint64_t there : {large, 2 * large}) {
        const auto back = 2 * large - there;
        const auto refusal = refuse(fixed_repetitions(2), [&](const auto& o, lw_samples **samples) {
            return lw_measure_pairs(MPI_COMM_WORLD, there, back, LW_ORDER_PARALLEL, &o, samples);
        });

        expect_refusal(refusal, LW_ERR_LIMIT, "needs 65536 GiB of memory in a rank where ");
    }
}

TEST(Refusals, ASizeBeyondTheAddressSpaceIsRefused) {
    const auto refusal =
        refuse(fixed_repetitions(2), [](const auto& options, lw_samples **samples) {
            return measure_bytes("scatter", 0, ~std::uint64_t{0}, options, samples);
        });

    expect_refusal(refusal, LW_ERR_LIMIT, "scatter");
}

TEST(Refusals, WeightsForAnotherNumberOfRanksAreNamed) {
    const auto operation = operation_named("scatterv");
    const std::vector<double> weights(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)) + 1, 1.0);
    ASSERT_EQ(lw_operation_weights(operation.get(), weights.data(), weights.size()), LW_OK);
    const std::uint64_t bytes = 8;

    const auto refusal =
        refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **samples) {
            return lw_measure(MPI_COMM_WORLD, operation.get(), 0, &bytes, 1, &options, samples);
        });

    expect_refusal(refusal, LW_ERR_ARGUMENT, "weights");
}

TEST(Refusals, WeightsThatOverflowDisplacementsNameTheLimit) {
    const auto operation = operation_named("alltoallv");
    std::vector<double> weights(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)), 0.0);
    weights[0] = 1.9;
    ASSERT_EQ(lw_operation_weights(operation.get(), weights.data(), weights.size()), LW_OK);
    const std::uint64_t bytes = std::uint64_t{1} << 31;

    const auto refusal =
        refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **samples) {
            return lw_measure(MPI_COMM_WORLD, operation.get(), 0, &bytes, 1, &options, samples);
        });

    expect_refusal(refusal, LW_ERR_LIMIT, "INT_MAX");
}

TEST(Refusals, TasksRefuseWhatIsNotMadeOfThem) {
    auto options = fixed_repetitions(2);
    options.timing = LW_TIMING_TASKS;

    const auto refusal = refuse(options, [](const auto& o, lw_samples **samples) {
        return measure_bytes("allreduce", 0, 8, o, samples);
    });

    expect_refusal(refusal, LW_ERR_UNSUPPORTED, "allreduce");
}

TEST(Refusals, TasksRefuseDeadlinesAndPipelines) {
    for (const auto start : {LW_START_WINDOW, LW_START_ROUND_TIME}) {
        expect_refusal(refuse_options([start](lw_measure_options& options) {
                           options.timing = LW_TIMING_TASKS;
                           options.start = start;
                       }),
                       LW_ERR_UNSUPPORTED, "barrier start");
    }
    expect_refusal(refuse_options([](lw_measure_options& options) {
                       options.timing = LW_TIMING_TASKS;
                       options.pipeline_length = 2;
                   }),
                   LW_ERR_UNSUPPORTED, "pipeline");
}

TEST(Refusals, PairRoundsNeedEnoughRanks) {
    const int size = size_of(MPI_COMM_WORLD);
    const auto pairs = [](const auto& options, lw_samples **samples) {
        return lw_measure_pairs(MPI_COMM_WORLD, 8, 8, LW_ORDER_PARALLEL, &options, samples);
    };
    const auto triplets = [](const auto& options, lw_samples **samples) {
        return lw_measure_triplets(MPI_COMM_WORLD, 8, 8, LW_ORDER_PARALLEL, &options, samples);
    };
    if (size < 2) expect_refusal(refuse(fixed_repetitions(2), pairs), LW_ERR_ARGUMENT, "ranks");
    if (size < 3) expect_refusal(refuse(fixed_repetitions(2), triplets), LW_ERR_ARGUMENT, "ranks");
    if (size >= 3) GTEST_SKIP() << "enough ranks for both";
}

TEST(Refusals, PingPongNeedsTwoRanks) {
    if (size_of(MPI_COMM_WORLD) > 1) GTEST_SKIP() << "enough ranks for ping-pong";

    const auto refusal =
        refuse(fixed_repetitions(2), [](const auto& options, lw_samples **samples) {
            return measure_bytes("pingpong", 0, 8, options, samples);
        });

    expect_refusal(refusal, LW_ERR_ARGUMENT, "at least 2 ranks");
}

/* A user operation that fails on rank `where`, from execution `from` on. */
struct Failing {
    int where = 0;
    int from = 0;
    int executions = 0;
    lw_status setup_fails = LW_OK;
    MPI_Comm comm = MPI_COMM_NULL;

    Operation operation() {
        const lw_operation_callbacks callbacks = {
            sizeof(lw_operation_callbacks), "failing", setup, execute, nullptr, this};
        lw_operation *made = nullptr;
        EXPECT_EQ(lw_operation_user(&callbacks, &made), LW_OK);
        return Operation(made);
    }
    static int setup(void *self, MPI_Comm comm, int, std::uint64_t, void **state) {
        *state = self;
        auto *failing = static_cast<Failing *>(self);
        failing->comm = comm;
        return failing->setup_fails != LW_OK && rank_of(comm) == failing->where ? 1 : 0;
    }
    static int execute(void *self) {
        auto *failing = static_cast<Failing *>(self);
        const bool here = rank_of(MPI_COMM_WORLD) == failing->where;
        MPI_Barrier(failing->comm);
        return failing->executions++ >= failing->from && here ? 1 : 0;
    }
};

Refusal refuse_failing(Failing& failing, lw_measure_options options) {
    const auto operation = failing.operation();
    const std::uint64_t bytes = 8;
    return refuse(options, [&](const auto& o, lw_samples **samples) {
        return lw_measure(MPI_COMM_WORLD, operation.get(), 0, &bytes, 1, &o, samples);
    });
}

// Also of one that the others wait for in each execution.
TEST(Failures, OfTheOperationOnOneRankReachEveryRank) {
    for (const int where : {0, size_of(MPI_COMM_WORLD) - 1}) {
        for (const auto timing : {LW_TIMING_MAX, LW_TIMING_ROOT, LW_TIMING_GLOBAL}) {
            Failing failing{.where = where, .from = 4};
            auto options = fixed_repetitions(20);
            options.timing = timing;

            const auto refusal = refuse_failing(failing, options);

            expect_refusal(refusal, LW_ERR_OPERATION, "failing");
            EXPECT_EQ(failing.executions, 21);
        }
    }
}

TEST(Failures, WithinAPipelineReachEveryRank) {
    Failing failing{.where = 0, .from = 4};
    auto options = fixed_repetitions(5);
    options.pipeline_length = 3;

    expect_refusal(refuse_failing(failing, options), LW_ERR_OPERATION, "failing");
    EXPECT_EQ(failing.executions, 1 + 5 * 3);
}

int broadcasts = 0;

// Fails on the last rank once it has been called a few times, with its part of the work done.
int failing_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    const int code = MPI_Bcast(buffer, count, type, root, comm);
    MPI_Barrier(comm);
    const bool last = rank_of(comm) == size_of(comm) - 1;
    return last && ++broadcasts > 5 ? MPI_ERR_OTHER : code;
}

TEST(Failures, OfOneOfManyTasksReachEveryRank) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "one rank has no tasks";
    broadcasts = 0;
    const Operation operation(lw_operation_bcast(failing_bcast));
    const std::uint64_t bytes = 8;
    auto options = fixed_repetitions(10);
    options.timing = LW_TIMING_TASKS;

    const auto refusal = refuse(options, [&](const auto& o, lw_samples **samples) {
        return lw_measure(MPI_COMM_WORLD, operation.get(), 0, &bytes, 1, &o, samples);
    });

    expect_refusal(refusal, LW_ERR_OPERATION, "returned an error");
}

TEST(Failures, WhileWarmingUpReachEveryRank) {
    for (const int where : {0, size_of(MPI_COMM_WORLD) - 1}) {
        Failing failing{.where = where, .from = 0};
        auto options = fixed_repetitions(5);
        options.warmup_repetitions = 4;

        expect_refusal(refuse_failing(failing, options), LW_ERR_OPERATION, "failing");
    }
}

TEST(Failures, ThatAnOperationThrowsOnEveryRankAreReportedOnOne) {
    const auto refusal_of = [](int (*execute)(void *)) {
        const lw_operation_callbacks callbacks = {sizeof callbacks, "throwing", nullptr,
                                                  execute,          nullptr,    nullptr};
        lw_operation *made = nullptr;
        EXPECT_EQ(lw_operation_user(&callbacks, &made), LW_OK);
        const Operation operation(made);
        const std::uint64_t bytes = 8;
        return refuse(fixed_repetitions(2), [&](const auto& options, lw_samples **samples) {
            return lw_measure(MPI_COMM_WORLD, operation.get(), 0, &bytes, 1, &options, samples);
        });
    };

    const auto exception = refusal_of([](void *) -> int { throw std::runtime_error("disk full"); });
    const auto number = refusal_of([](void *) -> int { throw 5; });

    expect_refusal(exception, LW_ERR_OPERATION, "disk full");
    expect_refusal(number, LW_ERR_OPERATION, "no std::exception");
}

TEST(Failures, AreToldOnceToAReportThatThrows) {
    const Operation operation(lw_operation_bcast(MPI_Bcast));
    const std::uint64_t bytes = 8;
    auto options = fixed_repetitions(2);
    int calls = 0;
    options.report_context = &calls;
    options.report = [](void *context, lw_status /*status*/, const char * /*sentence*/) {
        ++*static_cast<int *>(context);
        throw std::runtime_error("nobody listens");
    };
    lw_samples *samples = nullptr;
    const int no_root = size_of(MPI_COMM_WORLD);
    const auto measure_from_no_root = [&] {
        return lw_measure(MPI_COMM_WORLD, operation.get(), no_root, &bytes, 1, &options, &samples);
    };

    if (rank_of(MPI_COMM_WORLD) == 0)
        EXPECT_THROW(measure_from_no_root(), std::runtime_error);
    else
        EXPECT_EQ(measure_from_no_root(), LW_ERR_ARGUMENT);
    EXPECT_EQ(calls, rank_of(MPI_COMM_WORLD) == 0 ? 1 : 0);
}

TEST(Failures, OfSetupOnOneRankReachEveryRank) {
    for (const int where : {0, size_of(MPI_COMM_WORLD) - 1}) {
        Failing failing{.where = where, .setup_fails = LW_ERR_OPERATION};

        const auto refusal = refuse_failing(failing, fixed_repetitions(5));

        expect_refusal(refusal, LW_ERR_OPERATION, "failing");
        EXPECT_EQ(failing.executions, 0);
    }
}

}  // namespace
}  // namespace lanewise::measure
