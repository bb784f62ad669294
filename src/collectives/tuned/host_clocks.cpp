// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/host_clocks.hpp"

#include <cmath>

#include "measure/clock_sync/global_clock.hpp"

namespace lanewise::tuned {
namespace {

// One bracket a pair of hosts: the drift is found from those of the beginning and of the end.
constexpr measure::SyncOptions one_offset{.fit_points = 1, .exchanges = 30, .span_s = 0.0};

}  // namespace

ClockOffset compare_clocks(const measure::Harness& harness, const Clock& clock) {
    const auto global = measure::GlobalClock::synchronise(harness, clock, one_offset);
    const double at_s = clock.now_s();
    return {std::llround(1e9 * at_s), std::llround(1e9 * (global.at_s(at_s) - at_s))};
}

profile::ClockLine line_between(const ClockOffset& begin, const ClockOffset& end) {
    return {begin.at_ns, end.at_ns, begin.offset_ns, end.offset_ns};
}

}  // namespace lanewise::tuned
