// SPDX-License-Identifier: BSD-3-Clause
//
// Synchronisation of clocks on real ranks, which wait for processors at any moment. What holds
// whatever else the machine does is tested here: what share of an error is removed, and that the
// error is no larger than the one that is told. simulated_clock_test.cpp holds it to microseconds.

#include "measure/clock_sync/global_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "measure/clock_sync/testing/skewed.hpp"
#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

// A hundred times that of real clocks, to stand out from what crowded processors add.
constexpr double drift = 5e-3;
constexpr SyncOptions brief{.fit_points = 40, .exchanges = 10, .span_s = 0.1};

// Defect 4 of the original: the sign of the offset was wrong, so the error was doubled.
TEST(GlobalClock, RemovesAlmostAllOfOffsetsOfSeconds) {
    const Harness harness(MPI_COMM_WORLD);
    if (harness.size() < 2) GTEST_SKIP() << "one rank agrees with itself";
    const auto clock = testing::clock_of(harness, drift);

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    EXPECT_LT(testing::error_s(harness, clock, global, 0.0) / testing::apart_s, 0.01);
}

// A slope needs offsets that are apart. Time can only be longer than asked for; drift shortens it
// by half a per cent.
TEST(GlobalClock, LearnsOffsetsOverTheWholeSpan) {
    const Harness harness(MPI_COMM_WORLD);
    if (harness.size() < 2) GTEST_SKIP() << "one rank has nothing to learn";
    const auto clock = testing::clock_of(harness, drift);
    const double begin_s = clock.true_s();

    GlobalClock::synchronise(harness, clock, brief);

    const double last = static_cast<double>(brief.fit_points - 1) / brief.fit_points;
    EXPECT_GT(clock.true_s() - begin_s, 0.99 * last * brief.span_s);
}

TEST(GlobalClock, IsRankZerosClock) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = testing::clock_of(harness, drift);

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    if (harness.rank() == 0) {
        for (const double t : {0.0, 1.0, 1e5}) EXPECT_EQ(global.at_s(t), t);
    }
}

TEST(GlobalClock, IsOneModelForTheRanksOfOneHost) {
    const Harness harness(MPI_COMM_WORLD);

    const auto global = GlobalClock::synchronise(harness, monotonic_clock(), brief);

    const double at[2] = {global.at_s(1e4), global.at_s(1e5)};
    for (const auto& theirs : harness.collect(at)) {
        EXPECT_EQ(theirs[0], at[0]);
        EXPECT_EQ(theirs[1], at[1]);
    }
}

TEST(GlobalClock, OfAClockThatIsEverywhereTheSameIsThatClock) {
    const Harness harness(MPI_COMM_WORLD);
    auto clock = monotonic_clock();
    clock.scope = ClockScope::everywhere;

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    EXPECT_EQ(global.at_s(1e4), 1e4);
}

TEST(GlobalClock, GrowsOld) {
    const Harness harness(MPI_COMM_WORLD);

    const auto global = GlobalClock::synchronise(harness, monotonic_clock(), brief);

    const double first_s = global.age_s();
    while (global.age_s() == first_s) {
    }
    EXPECT_GT(global.age_s(), first_s);
    EXPECT_GE(first_s, 0.0);
}

// A bracket holds the truth whatever delays its exchanges, except for what the clocks drift apart
// meanwhile, which is known here.
TEST(Residual, IsTheTrueErrorWithinItsUncertainty) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = testing::clock_of(harness, drift);
    const auto reference = testing::reference_of(harness, clock);
    const auto global = GlobalClock::synchronise(harness, clock, brief);

    const double before_s = testing::ahead_s(clock, reference, global, clock.true_s());
    const auto residual = measure_residual(harness, global);
    const double after_s = testing::ahead_s(clock, reference, global, clock.true_s());

    double worst[2] = {std::max(std::abs(before_s), std::abs(after_s)),
                       std::abs(after_s - before_s)};
    harness.maximum(worst);
    const double rounding_s = 1e-9;
    EXPECT_NEAR(residual.residual_s, worst[0], residual.uncertainty_s + worst[1] + rounding_s);
    EXPECT_GE(residual.uncertainty_s, 0.0);
}

// Clocks that are declared to be one, and are therefore not synchronised, but lie 20 ms apart.
TEST(Residual, SeesAModelThatIsWrong) {
    const Harness harness(MPI_COMM_WORLD);
    if (harness.size() < 2) GTEST_SKIP() << "one rank agrees with itself";
    auto clock = skewed_clock(20e-3 * harness.rank(), 0.0);
    clock.scope = ClockScope::everywhere;
    const auto global = GlobalClock::synchronise(harness, clock, brief);

    const auto residual = measure_residual(harness, global);

    EXPECT_GT(residual.residual_s + residual.uncertainty_s, 20e-3 * (harness.size() - 1) * 0.99);
}

TEST(Residual, IsOfSixteenRanksAtMost) {
    for (int ranks = 1; ranks <= 200; ++ranks) {
        const auto found = residual_ranks(ranks);

        EXPECT_LE(found.size(), 16U) << ranks;
        EXPECT_GE(found.size(), std::min<std::size_t>(8, static_cast<std::size_t>(ranks) - 1));
        EXPECT_TRUE(ranks == 1 || found.back() < ranks) << ranks;
    }
    EXPECT_TRUE(residual_ranks(1).empty());
    EXPECT_EQ(residual_ranks(4), (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(residual_ranks(32).size(), 16U);
}

TEST(Residual, IsTheSameOnEveryRank) {
    const Harness harness(MPI_COMM_WORLD);
    const auto global = GlobalClock::synchronise(harness, monotonic_clock(), brief);

    const auto residual = measure_residual(harness, global);

    for (const auto& row : harness.collect(std::span(&residual.residual_s, 1))) {
        EXPECT_EQ(row.front(), residual.residual_s);
    }
}

}  // namespace
}  // namespace lanewise::measure
