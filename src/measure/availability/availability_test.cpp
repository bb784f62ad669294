// SPDX-License-Identifier: BSD-3-Clause
//
// Polling and post-work-wait: what every repetition gives, whatever the machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "measure/availability/polling.hpp"
#include "measure/availability/post_work_wait.hpp"
#include "measure/harness/work.hpp"
#include "testing/measuring.hpp"

namespace {
int isends = 0;
}

// Stands before the MPI's own, and counts.
extern "C" int MPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request *request) {
    ++isends;
    return PMPI_Isend(from, count, type, to, tag, comm, request);
}

namespace lanewise::measure {
namespace {

TEST(Work, TakesLongerTheMoreStepsItHas) {
    const auto clock = monotonic_clock();
    const double step_s = calibrate_work_s(clock);

    EXPECT_GT(step_s, 0.0);
    EXPECT_EQ(steps_for(100.5 * step_s, step_s), 100u);
    EXPECT_EQ(steps_for(0.0, step_s), 1u);
}

TEST(Polling, GivesAValueARepetitionAndLosesNoMessage) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));
    const PollingPlan plan{
        .message_bytes = 70'000, .interval_s = 1e-5, .work_s = 2e-3, .depth = 3, .repetitions = 4};

    const auto polled = measure_polling(bench, plan);

    ASSERT_TRUE(polled);
    ASSERT_EQ(polled->availability.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_GT(polled->availability[i], 0.0);
        EXPECT_GE(polled->rate_bytes_per_s[i], 0.0);
    }
}

// Where the interval is as long as the work, one poll fits. It sends no more than the messages in
// flight, as the beginning did, and the end sends how many they were.
TEST(Polling, LooksForMessagesOnlyAfterEachIntervalOfWork) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));
    const PollingPlan plan{
        .message_bytes = 64, .interval_s = 2e-3, .work_s = 2e-3, .depth = 3, .repetitions = 1};
    const bool takes_part = testing::rank_of(MPI_COMM_WORLD) < 2;
    const int before = isends;

    const auto polled = measure_polling(bench, plan);

    ASSERT_TRUE(polled);
    if (takes_part) {
        EXPECT_LE(isends - before, plan.depth + plan.depth + 1);
    }
}

TEST(PostWorkWait, HasNoWorkFirstAndMoreAndMoreAfterwards) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));

    const auto all = measure_post_work_wait(bench, {10'000, 3});

    ASSERT_TRUE(all);
    EXPECT_EQ(all->front().over_base, 0.0);
    EXPECT_EQ(all->front().alone_s, std::vector<double>(3, 0.0));
    for (const auto& waited : *all) {
        ASSERT_EQ(waited.loop_s.size(), 3u);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_GE(waited.loop_s[i], waited.wait_s[i]);
            EXPECT_GE(waited.loop_s[i], waited.post_s[i]);
        }
    }
}

void expect_limit(lw_status status, const std::string& sentence, const std::string& words) {
    EXPECT_EQ(status, LW_ERR_LIMIT);
    EXPECT_THAT(sentence, ::testing::HasSubstr(words));
}

// One more than a count can say; four gibibytes would be sent as nothing.
TEST(Availability, OfMessagesBeyondACountIsRefused) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));
    for (const std::uint64_t bytes : {std::uint64_t{1} << 31, std::uint64_t{1} << 32}) {
        const auto polled = measure_polling(bench, {.message_bytes = bytes, .repetitions = 1});
        const auto waited = measure_post_work_wait(bench, {bytes, 1});

        ASSERT_FALSE(polled);
        expect_limit(polled.failure().status, polled.failure().sentence, "exceeds INT_MAX bytes");
        ASSERT_FALSE(waited);
        expect_limit(waited.failure().status, waited.failure().sentence, "exceeds INT_MAX bytes");
    }
}

TEST(Availability, ThatNeedsMoreMemoryThanIsFreeIsRefusedBeforeItIsAllocated) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    auto options = testing::fixed_repetitions(1);
    options.buffers.rotating_sets = 1 << 16;
    Bench bench(MPI_COMM_WORLD, options);
    constexpr std::uint64_t bytes = 1 << 30;

    const auto polled = measure_polling(bench, {.message_bytes = bytes, .repetitions = 1});
    const auto waited = measure_post_work_wait(bench, {bytes, 1});

    ASSERT_FALSE(polled);
    expect_limit(polled.failure().status, polled.failure().sentence,
                 "polling of 1G bytes needs 65544 GiB");
    ASSERT_FALSE(waited);
    expect_limit(waited.failure().status, waited.failure().sentence,
                 "post-work-wait of 1G bytes needs 131072 GiB");
}

TEST(PostWorkWait, IsRefusedOnOneRank) {
    if (testing::size_of(MPI_COMM_WORLD) != 1) GTEST_SKIP() << "needs one rank alone";
    Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));

    EXPECT_FALSE(measure_post_work_wait(bench, {8, 1}));
    EXPECT_FALSE(measure_polling(bench, {}));
}

}  // namespace
}  // namespace lanewise::measure
