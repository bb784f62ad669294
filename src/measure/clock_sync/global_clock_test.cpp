// SPDX-License-Identifier: BSD-3-Clause
//
// Synchronisation of clocks that are wrong on purpose. All ranks share one
// host, so the truth is known: what rank 0's skewed clock reads at a true time
// is arithmetic. Drifts are a hundred times those of real clocks, so that
// tolerances can stand far above what crowded processors add, and far below
// the seconds and tens of milliseconds that a wrong model leaves.

#include "measure/clock_sync/global_clock.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

constexpr double drift = 5e-3;
constexpr SyncOptions brief{.fit_points = 40, .exchanges = 10, .span_s = 0.1};

double sign_of(int rank) {
    return rank % 2 == 0 ? 1.0 : -1.0;
}

Clock clock_of(const Harness& harness) {
    const int rank = harness.rank();
    return skewed_clock(1.5 * rank, drift * sign_of(rank));
}

double reading(const Clock& clock, double true_s) {
    return true_s + (clock.offset_s + clock.drift * (true_s - clock.origin_s));
}

/* What rank 0's clock reads, on every rank. */
Clock reference_of(const Harness& harness, const Clock& mine) {
    struct Skew {
        double offset_s, drift, origin_s;
    } skew{mine.offset_s, mine.drift, mine.origin_s};
    harness.broadcast_value(skew);
    auto reference = mine;
    reference.offset_s = skew.offset_s;
    reference.drift = skew.drift;
    reference.origin_s = skew.origin_s;
    return reference;
}

/* How wrong the global clock is `later_s` after now, on the worst rank. */
double error_s(const Harness& harness, const Clock& clock, const GlobalClock& global,
               double later_s) {
    const auto reference = reference_of(harness, clock);
    const double true_s = clock.true_s() + later_s;
    double error = std::abs(global.at_s(reading(clock, true_s)) - reading(reference, true_s));
    harness.maximum({&error, 1});
    return error;
}

// Defect 4 of the original: the sign of the offset was wrong, so the error was doubled.
TEST(GlobalClock, RemovesOffsetsOfSeconds) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = clock_of(harness);

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    EXPECT_LT(error_s(harness, clock, global, 0.0), 1e-3);
}

TEST(GlobalClock, RemovesDriftSoThatItHoldsASecondLater) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = clock_of(harness);

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    // Left alone, neighbours would be 10 ms apart by then.
    EXPECT_LT(error_s(harness, clock, global, 1.0), 3e-3);
}

TEST(GlobalClock, IsRankZerosClock) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = clock_of(harness);

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

TEST(Residual, IsSmallAfterSynchronisation) {
    const Harness harness(MPI_COMM_WORLD);
    const auto global = GlobalClock::synchronise(harness, clock_of(harness), brief);

    const auto residual = measure_residual(harness, global);

    EXPECT_LT(residual.residual_s, 3e-3);
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
