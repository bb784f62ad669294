// SPDX-License-Identifier: BSD-3-Clause
//
// Synchronisation of clocks that are wrong on purpose, on a simulated cluster, where no rank ever
// waits for a processor: the truth is simulated time, so what a synchronised clock is off by is
// the same in every run and on every machine. Drifts are those of real clocks.

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "measure/clock_sync/global_clock.hpp"
#include "measure/clock_sync/testing/skewed.hpp"

namespace lanewise::measure {
namespace {

constexpr double error_max_s = 5e-6;
// Points follow one another without a pause, since simulated ranks do not wait for a clock.
constexpr SyncOptions brief{.fit_points = 40, .exchanges = 10, .span_s = 0.05};
// Neighbours drift apart by 100 us a second.
constexpr double drift = 50e-6;

double simulated_s() {
    return MPI_Wtime();
}

TEST(SimulatedClocks, SecondsApartAreOneWithinFiveMicroseconds) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = testing::clock_of(harness, drift, simulated_s);

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    EXPECT_LT(testing::error_s(harness, clock, global, 0.0), error_max_s);
}

TEST(SimulatedClocks, AreStillOneASecondLater) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = testing::clock_of(harness, drift, simulated_s);

    const auto global = GlobalClock::synchronise(harness, clock, brief);

    EXPECT_LT(testing::error_s(harness, clock, global, 1.0), error_max_s);
}

TEST(SimulatedClocks, HaveAResidualThatIsTheirError) {
    const Harness harness(MPI_COMM_WORLD);
    const auto clock = testing::clock_of(harness, drift, simulated_s);
    const auto global = GlobalClock::synchronise(harness, clock, brief);

    const auto residual = measure_residual(harness, global);

    const double error = testing::error_s(harness, clock, global, 0.0);
    EXPECT_NEAR(residual.residual_s, error, error_max_s);
    // A message takes that long on this platform.
    EXPECT_NEAR(residual.uncertainty_s, 202e-6, 5e-6);
}

// The ways there and back take equally long, so the middle of the bracket is the truth.
TEST(SimulatedClocks, ThatWereNeverSynchronisedHaveTheirDistanceForResidual) {
    const Harness harness(MPI_COMM_WORLD);
    auto clock = testing::clock_of(harness, 0.0, simulated_s);
    clock.scope = ClockScope::everywhere;
    const auto global = GlobalClock::synchronise(harness, clock, brief);

    const auto residual = measure_residual(harness, global);

    EXPECT_NEAR(residual.residual_s, testing::apart_s * (harness.size() - 1), error_max_s);
}

}  // namespace
}  // namespace lanewise::measure
