// SPDX-License-Identifier: BSD-3-Clause
//
// Clocks that are skewed on purpose, a second apart and drifting, agree after the two comparisons.

#include "collectives/tuned/host_clocks.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace lanewise::tuned {
namespace {

/* The drift is large, so that it shows in a second, also where a rank waits for a processor. */
constexpr double drift = 1e-2;
constexpr double run_s = 1.0;

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void run_for(double seconds) {
    const double begin_s = monotonic_s();
    while (monotonic_s() < begin_s + seconds) {
    }
}

/* The widest difference between ranks of a global time that all read at one true time. */
double apart_s(const Clock& clock, const profile::ClockLine& line, double true_s) {
    double begin_s = true_s;
    MPI_Bcast(&begin_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const double local_s = begin_s + (clock.offset_s + clock.drift * (begin_s - clock.origin_s));
    const double mine_s = 1e-9 * static_cast<double>(line.global_ns(std::llround(1e9 * local_s)));
    double least_s = 0.0;
    double most_s = 0.0;
    MPI_Allreduce(&mine_s, &least_s, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine_s, &most_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most_s - least_s;
}

TEST(HostClocks, AgreeInTheMiddleOfARunAlthoughTheyDrift) {
    const measure::Harness harness(MPI_COMM_WORLD);
    auto clock = skewed_clock(1.0 * world_rank(), drift * world_rank());
    clock.scope = ClockScope::rank;
    const auto begin = compare_clocks(harness, clock);
    run_for(run_s / 2);
    const double middle_s = clock.true_s();
    run_for(run_s / 2);
    const auto end = compare_clocks(harness, clock);

    const double with_line_s = apart_s(clock, line_between(begin, end), middle_s);
    const double without_end_s = apart_s(clock, line_between(begin, begin), middle_s);

    // The offset of the beginning alone is wrong by the drift; interrupted exchanges cost less.
    EXPECT_LT(with_line_s, 0.5 * without_end_s);
}

TEST(HostClocks, OfOneHostAreNotCorrected) {
    const measure::Harness harness(MPI_COMM_WORLD);

    EXPECT_EQ(compare_clocks(harness, monotonic_clock()).offset_ns, 0);
}

}  // namespace
}  // namespace lanewise::tuned
