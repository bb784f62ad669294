// SPDX-License-Identifier: BSD-3-Clause
//
// Clocks that are wrong on purpose, and how wrong a synchronised one is. All ranks share one host,
// real or simulated, so the truth is known: what rank 0's skewed clock reads at a true time is
// arithmetic.

#pragma once

#include <cmath>

#include "base/clock.hpp"
#include "measure/clock_sync/global_clock.hpp"

namespace lanewise::measure::testing {

constexpr double apart_s = 1.5;

/* Rank r is 1.5 r seconds ahead of what `read` reads; neighbours drift in opposite directions. */
inline Clock clock_of(const Harness& harness, double drift, double (*read)() = monotonic_s) {
    const int rank = harness.rank();
    return {.name = "skewed",
            .read = read,
            .offset_s = apart_s * rank,
            .drift = rank % 2 == 0 ? drift : -drift,
            .origin_s = read(),
            .scope = ClockScope::rank};
}

inline double reading(const Clock& clock, double true_s) {
    return true_s + (clock.offset_s + clock.drift * (true_s - clock.origin_s));
}

/* What rank 0's clock reads, on every rank. */
inline Clock reference_of(const Harness& harness, const Clock& mine) {
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

/* How far this rank's global clock is from rank 0's clock at a true time; above 0 is ahead. */
inline double ahead_s(const Clock& clock, const Clock& reference, const GlobalClock& global,
                      double true_s) {
    return global.at_s(reading(clock, true_s)) - reading(reference, true_s);
}

/* How wrong the global clock is `later_s` after now, on the worst rank. */
inline double error_s(const Harness& harness, const Clock& clock, const GlobalClock& global,
                      double later_s) {
    const auto reference = reference_of(harness, clock);
    double error = std::abs(ahead_s(clock, reference, global, clock.true_s() + later_s));
    harness.maximum({&error, 1});
    return error;
}

}  // namespace lanewise::measure::testing
