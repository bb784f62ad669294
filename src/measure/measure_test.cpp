// SPDX-License-Identifier: BSD-3-Clause
//
// lw_measure through the C API on real ranks: what a call returns, how often
// it executes, and that every rank gets the same.

#include <lanewise/measure.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::fixed_repetitions;
using testing::Operation;
using testing::operation_named;
using testing::rank_of;
using testing::Samples;
using testing::size_of;
using ::testing::UnorderedElementsAreArray;

using Sizes = std::vector<std::uint64_t>;

Samples measure(const lw_operation *operation, const Sizes& sizes_bytes,
                const lw_measure_options& options, int root = 0) {
    lw_samples *samples = nullptr;
    const auto status = lw_measure(MPI_COMM_WORLD, operation, root, sizes_bytes.data(),
                                   sizes_bytes.size(), &options, &samples);
    EXPECT_EQ(status, LW_OK) << lw_status_text(status);
    return Samples(samples);
}

lw_point point_of(const Samples& samples, std::size_t index) {
    lw_point point = LW_POINT;
    EXPECT_EQ(lw_samples_point(samples.get(), index, &point), LW_OK);
    return point;
}

std::vector<double> values_of(const Samples& samples, std::size_t index) {
    std::size_t count = 0;
    const double *values = lw_samples_values(samples.get(), index, &count);
    return {values, values + count};
}

// Whether all ranks hold these very numbers.
bool same_everywhere(std::vector<double> mine) {
    std::size_t length = mine.size();
    MPI_Bcast(&length, sizeof length, MPI_BYTE, 0, MPI_COMM_WORLD);
    std::vector<double> theirs(length);
    if (mine.size() == length) theirs = mine;
    MPI_Bcast(theirs.data(), static_cast<int>(length), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return mine == theirs;
}

/* A user operation that counts what becomes of it. */
struct Counted {
    int setups = 0;
    int executions = 0;
    int teardowns = 0;
    std::uint64_t message_bytes = 0;
    Sizes sizes; /* of each batch, in the order taken */
    int root = -1;
    int size = 0;

    Operation operation() {
        const lw_operation_callbacks callbacks = {
            sizeof(lw_operation_callbacks), "counted", setup, execute, teardown, this};
        lw_operation *made = nullptr;
        EXPECT_EQ(lw_operation_user(&callbacks, &made), LW_OK);
        return Operation(made);
    }
    static int setup(void *self, MPI_Comm comm, int root, std::uint64_t bytes, void **state) {
        auto *counted = static_cast<Counted *>(self);
        ++counted->setups;
        counted->root = root;
        counted->size = size_of(comm);
        counted->message_bytes = bytes;
        counted->sizes.push_back(bytes);
        *state = self;
        return 0;
    }
    static int execute(void *self) {
        ++static_cast<Counted *>(self)->executions;
        return 0;
    }
    static void teardown(void *self) { ++static_cast<Counted *>(self)->teardowns; }
};

TEST(Measure, GivesAPointASizeInTheOrderGiven) {
    const auto operation = operation_named("bcast");
    const Sizes sizes = {4096, 0, 64, 65536, 1};

    const auto samples = measure(operation.get(), sizes, fixed_repetitions(3));

    ASSERT_EQ(lw_samples_count(samples.get()), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(point_of(samples, i).message_bytes, sizes[i]);
    }
}

TEST(Measure, MeasuresEachOfManySizes) {
    Sizes sizes(20);
    std::iota(sizes.begin(), sizes.end(), std::uint64_t{0});

    const auto samples = measure(operation_named("bcast").get(), sizes, fixed_repetitions(2));

    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(point_of(samples, i).message_bytes, sizes[i]);
        EXPECT_EQ(point_of(samples, i).repetitions, 2u);
    }
}

TEST(Measure, TakesSizesInAnOrderThatTheSeedDecides) {
    Sizes sizes(8);
    std::iota(sizes.begin(), sizes.end(), std::uint64_t{1});
    std::vector<Sizes> taken;
    for (const std::uint64_t seed : {1u, 2u, 1u}) {
        Counted counted;
        auto options = fixed_repetitions(2);
        options.seed = seed;
        measure(counted.operation().get(), sizes, options);
        taken.push_back(counted.sizes);
    }

    EXPECT_THAT(Sizes(taken[0].begin(), taken[0].begin() + 8), UnorderedElementsAreArray(sizes));
    EXPECT_NE(taken[0], taken[1]);
    EXPECT_EQ(taken[0], taken[2]);
}

TEST(Measure, OfNoSizesGivesNoPoints) {
    const auto operation = operation_named("bcast");

    const auto samples = measure(operation.get(), {}, fixed_repetitions(3));

    EXPECT_EQ(lw_samples_count(samples.get()), 0u);
}

// Defect 2 of the original: ranks other than the root got bytes of the stack.
TEST(Measure, TellsEveryRankTheSame) {
    const auto operation = operation_named("scatter");
    const int last = size_of(MPI_COMM_WORLD) - 1;
    for (const auto timing : {LW_TIMING_MAX, LW_TIMING_ROOT, LW_TIMING_GLOBAL}) {
        auto options = fixed_repetitions(6); /* the fewest that have an interval */
        options.timing = timing;

        const auto samples = measure(operation.get(), {8, 1024}, options, last);

        for (std::size_t i = 0; i < 2; ++i) {
            const auto point = point_of(samples, i);
            EXPECT_TRUE(same_everywhere(values_of(samples, i)));
            EXPECT_TRUE(same_everywhere({point.median_s, point.low_s, point.high_s, point.mean_s}));
            EXPECT_EQ(point.root, last);
            EXPECT_EQ(point.peer, -1);
        }
    }
}

TEST(Measure, KeepsEveryValue) {
    const auto operation = operation_named("allreduce");
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = 5;
    options.repetitions_max = 40;

    const auto samples = measure(operation.get(), {64, 256}, options);

    for (std::size_t i = 0; i < 2; ++i) {
        const auto point = point_of(samples, i);
        auto values = values_of(samples, i);
        EXPECT_EQ(values.size(), point.repetitions);
        EXPECT_GE(point.batch_count, 2u);
        std::sort(values.begin(), values.end());
        EXPECT_GE(point.median_s, values.front());
        EXPECT_LE(point.median_s, values.back());
        EXPECT_LE(point.low_s, point.median_s);
        EXPECT_GE(point.high_s, point.median_s);
        EXPECT_EQ(lw_samples_median(samples.get(), i), point.median_s);
    }
}

TEST(Measure, RepeatsAFixedCountExactly) {
    Counted counted;
    const auto operation = counted.operation();
    auto options = fixed_repetitions(17);
    options.warmup_repetitions = 3;

    const auto samples = measure(operation.get(), {8}, options);

    const auto point = point_of(samples, 0);
    EXPECT_EQ(point.repetitions, 17u);
    EXPECT_EQ(point.stop, LW_STOP_FIXED);
    EXPECT_EQ(values_of(samples, 0).size(), 17u);
    EXPECT_EQ(counted.executions, 3 + 17);
}

TEST(Measure, SetsUpOnceABatchAndTearsDownAsOften) {
    Counted counted;
    const auto operation = counted.operation();
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = 4;
    options.repetitions_max = 32;

    const auto samples = measure(operation.get(), {40, 80}, options);

    const auto batches = point_of(samples, 0).batch_count + point_of(samples, 1).batch_count;
    EXPECT_EQ(counted.setups, static_cast<int>(batches));
    EXPECT_EQ(counted.teardowns, counted.setups);
}

TEST(Measure, TellsAUserOperationItsRootSizeAndRanks) {
    Counted counted;
    const auto operation = counted.operation();
    const int last = size_of(MPI_COMM_WORLD) - 1;

    measure(operation.get(), {12345}, fixed_repetitions(1), last);

    EXPECT_EQ(counted.message_bytes, 12345u);
    EXPECT_EQ(counted.root, last);
    EXPECT_EQ(counted.size, size_of(MPI_COMM_WORLD));
}

TEST(Measure, ExecutesAPipelineAsOneSample) {
    Counted counted;
    const auto operation = counted.operation();
    auto options = fixed_repetitions(6);
    options.warmup_repetitions = 0;
    options.pipeline_length = 7;

    const auto samples = measure(operation.get(), {8}, options);

    EXPECT_EQ(point_of(samples, 0).repetitions, 6u);
    EXPECT_EQ(counted.executions, 6 * 7);
}

// Defect 9 of the original: there was no warm-up.
TEST(Measure, WarmsUpBeforeEachBatch) {
    Counted counted;
    const auto operation = counted.operation();
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = 4;
    options.repetitions_max = 16;
    options.warmup_repetitions = 2;

    const auto samples = measure(operation.get(), {8}, options);

    const auto point = point_of(samples, 0);
    EXPECT_EQ(counted.executions, static_cast<int>(point.repetitions + 2 * point.batch_count));
}

TEST(Measure, RunsEveryStartWithEveryTiming) {
    const auto operation = operation_named("gather");
    for (int start = 0; lw_start_name(lw_start(start)); ++start) {
        for (int timing = 0; lw_timing_name(lw_timing(timing)); ++timing) {
            if (timing == LW_TIMING_TASKS) continue; /* refuses starts on deadlines */
            auto options = fixed_repetitions(4);
            options.start = lw_start(start);
            options.timing = lw_timing(timing);
            SCOPED_TRACE(lw_start_name(options.start) + std::string(" and ") +
                         lw_timing_name(options.timing));

            const auto samples = measure(operation.get(), {256}, options);

            const auto point = point_of(samples, 0);
            EXPECT_LE(point.repetitions, 4u);
            EXPECT_GT(point.repetitions + point.late_count, 0u);
        }
    }
}

// The slack before a deadline grows by half with every start that was late.
TEST(Measure, BeginsInTimeByRoundTimeSoonerOrLater) {
    auto options = fixed_repetitions(16);
    options.start = LW_START_ROUND_TIME;

    const auto samples = measure(operation_named("bcast").get(), {8}, options);

    EXPECT_GT(point_of(samples, 0).repetitions, 0u);
}

// Windows that grew with the wait for the window before would be three times as long in each batch,
// and soon past any limit. On a busy machine a rank waits long for its processor.
TEST(Measure, KeepsItsWindowsShortWithoutAWarmUp) {
    if (size_of(MPI_COMM_WORLD) > 1) GTEST_SKIP() << "ranks that come late widen the windows";
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.start = LW_START_WINDOW;
    options.warmup_repetitions = 0;
    options.repetitions_min = 2;
    options.repetitions_max = 4096;
    options.error = 1e-12;
    options.rule = LW_RULE_STUDENT;
    options.time_limit_s = 60.0;

    const auto samples = measure(operation_named("bcast").get(), {8}, options);

    // Two first times of the same number of nanoseconds are enough for the rule.
    EXPECT_NE(point_of(samples, 0).stop, LW_STOP_TIME_LIMIT);
}

TEST(Measure, RunsEveryClock) {
    const auto operation = operation_named("bcast");
    for (const auto clock : {LW_CLOCK_AUTO, LW_CLOCK_MONOTONIC, LW_CLOCK_WTIME}) {
        auto options = fixed_repetitions(4);
        options.clock = clock;

        const auto samples = measure(operation.get(), {8}, options);

        EXPECT_GT(lw_samples_median(samples.get(), 0), 0.0);
    }
}

// Crowded ranks learn one after another.
constexpr const char *synchronising_takes_long =
    "a second a rank; global_clock_test has more ranks";

// On clocks a second apart and drifting the spans stay those of one clock.
TEST(Measure, TimesGloballyOnSkewedClocks) {
    if (size_of(MPI_COMM_WORLD) > 3) GTEST_SKIP() << synchronising_takes_long;
    const auto operation = operation_named("bcast");
    auto options = fixed_repetitions(9);
    options.timing = LW_TIMING_GLOBAL;
    options.clock = LW_CLOCK_SKEWED;
    options.skew_offset_s = -1.0 * rank_of(MPI_COMM_WORLD);
    options.skew_drift = 50e-6 * (rank_of(MPI_COMM_WORLD) % 2);

    const auto samples = measure(operation.get(), {8}, options);

    EXPECT_LT(lw_samples_median(samples.get(), 0), 0.1);
}

// Defect 3 of the original: the acknowledgement went to the wrong rank, so this hung.
TEST(TaskTiming, MeasuresOperationsMadeOfTasksFromAnyRoot) {
    const int size = size_of(MPI_COMM_WORLD);
    if (size < 2) GTEST_SKIP() << "tasks need a rank besides the root";
    auto options = fixed_repetitions(3);
    options.timing = LW_TIMING_TASKS;
    for (const char *name : {"bcast", "scatter", "scatterv", "gather", "gatherv", "ibcast"}) {
        const auto operation = operation_named(name);
        for (const int root : {0, size - 1}) {
            const auto samples = measure(operation.get(), {1024}, options, root);

            EXPECT_EQ(point_of(samples, 0).repetitions, 3u) << name;
            EXPECT_TRUE(same_everywhere(values_of(samples, 0))) << name;
        }
    }
}

// What is subtracted took part of the measurement, too.
TEST(TaskTiming, TakesNoMoreThanTheMeasurementTook) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "tasks need a rank besides the root";
    auto options = fixed_repetitions(3);
    options.timing = LW_TIMING_TASKS;

    const auto samples = measure(operation_named("scatter").get(), {8}, options);

    for (const double value_s : values_of(samples, 0)) {
        EXPECT_LE(std::abs(value_s), point_of(samples, 0).elapsed_s);
    }
}

// Every other execution is far longer, so that the interval of the median never narrows.
int execute_unevenly(void *executions) {
    const int turn = ++*static_cast<int *>(executions);
    for (int i = 0; i < turn % 2 * 500; ++i) sched_yield();
    return 0;
}

TEST(Measure, StopsAtTheTimeLimit) {
    static int executions = 0;
    const lw_operation_callbacks callbacks = {
        sizeof(lw_operation_callbacks),
        "uneven",
        [](void *, MPI_Comm, int, std::uint64_t, void **state) {
            *state = &executions;
            return 0;
        },
        execute_unevenly,
        nullptr,
        nullptr};
    lw_operation *made = nullptr;
    ASSERT_EQ(lw_operation_user(&callbacks, &made), LW_OK);
    const Operation operation(made);
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = 50;
    options.repetitions_max = 1'000'000'000;
    options.error = 1e-12;
    options.time_limit_s = 0.05;

    const auto samples = measure(operation.get(), {0}, options);

    const auto point = point_of(samples, 0);
    EXPECT_EQ(point.stop, LW_STOP_TIME_LIMIT);
    EXPECT_GE(point.elapsed_s, 0.05);
    EXPECT_LT(point.repetitions, 1'000'000'000u);
}

TEST(MeasureCurve, GivesPointsSortedBySizeWithTheGivenOnesAmongThem) {
    const auto operation = operation_named("bcast");
    const Sizes given = {65536, 0, 4096};
    const auto options = fixed_repetitions(3);
    lw_samples *raw = nullptr;

    const auto status = lw_measure_curve(MPI_COMM_WORLD, operation.get(), 0, given.data(),
                                         given.size(), 8192, 0.5, &options, &raw);
    const Samples samples(raw);

    ASSERT_EQ(status, LW_OK);
    Sizes sizes;
    for (std::size_t i = 0; i < lw_samples_count(raw); ++i) {
        sizes.push_back(point_of(samples, i).message_bytes);
    }
    EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
    EXPECT_EQ(std::adjacent_find(sizes.begin(), sizes.end()), sizes.end());
    for (const auto bytes : given) {
        EXPECT_TRUE(std::binary_search(sizes.begin(), sizes.end(), bytes)) << bytes;
    }
    EXPECT_GT(sizes.size(), given.size()) << "at least the middle of the wide interval";
}

TEST(MeasureClock, KnowsTheTrueErrorOfSkewedClocks) {
    if (size_of(MPI_COMM_WORLD) > 3) GTEST_SKIP() << synchronising_takes_long;
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.clock = LW_CLOCK_SKEWED;
    options.skew_offset_s = 2.0 * rank_of(MPI_COMM_WORLD);
    options.skew_drift = 1e-3 * (rank_of(MPI_COMM_WORLD) % 2);
    lw_clock_report report = LW_CLOCK_REPORT;

    ASSERT_EQ(lw_measure_clock(MPI_COMM_WORLD, 0.0, &options, &report), LW_OK);

    // The clocks are 2 s apart, and may drift apart by a thousandth between error and residual.
    EXPECT_LT(report.error_s, 0.01 * 2.0);
    EXPECT_NEAR(report.error_s, report.residual_s, report.uncertainty_s + 1e-3 * report.span_s);
}

TEST(MeasureClock, KnowsNoTruthAboutRealClocks) {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.clock = LW_CLOCK_MONOTONIC;
    lw_clock_report report = LW_CLOCK_REPORT;

    ASSERT_EQ(lw_measure_clock(MPI_COMM_WORLD, 0.0, &options, &report), LW_OK);

    EXPECT_TRUE(std::isnan(report.error_s));
}

TEST(MeasureClock, RefusesAReportOfAnotherSize) {
    const lw_measure_options options = LW_MEASURE_OPTIONS;
    lw_clock_report report = LW_CLOCK_REPORT;
    report.struct_size += 8;

    EXPECT_EQ(lw_measure_clock(MPI_COMM_WORLD, 0.0, &options, &report), LW_ERR_ARGUMENT);
}

TEST(Samples, PastTheLastPointAreNothing) {
    const auto operation = operation_named("bcast");
    const auto samples = measure(operation.get(), {8}, fixed_repetitions(2));
    lw_point point = LW_POINT;
    std::size_t count = 99;

    EXPECT_EQ(lw_samples_point(samples.get(), 1, &point), LW_ERR_ARGUMENT);
    EXPECT_TRUE(std::isnan(lw_samples_median(samples.get(), 1)));
    EXPECT_EQ(lw_samples_values(samples.get(), 1, &count), nullptr);
    EXPECT_EQ(count, 0u);
}

TEST(Samples, APointOfAnotherSizeIsLeftAlone) {
    const auto operation = operation_named("bcast");
    const auto samples = measure(operation.get(), {8}, fixed_repetitions(2));
    lw_point point = LW_POINT;
    point.struct_size -= 8;
    point.elapsed_s = -1.0;

    EXPECT_EQ(lw_samples_point(samples.get(), 0, &point), LW_ERR_ARGUMENT);

    EXPECT_EQ(point.elapsed_s, -1.0);
}

TEST(Samples, OfNullAreNothing) {
    EXPECT_EQ(lw_samples_count(nullptr), 0u);
    EXPECT_TRUE(std::isnan(lw_samples_median(nullptr, 0)));
    EXPECT_EQ(lw_samples_values(nullptr, 0, nullptr), nullptr);
    lw_samples_free(nullptr);
}

}  // namespace
}  // namespace lanewise::measure
