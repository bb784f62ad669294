// SPDX-License-Identifier: BSD-3-Clause
//
// HostClocks: how far the clock of this rank's host is from that of rank 0, at the beginning and at
// the end of a run.

#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "collectives/profile/clock_line.hpp"
#include "measure/harness/harness.hpp"

namespace lanewise::tuned {

/* What is to be added to the clock, and when, by that clock, this was found. */
struct ClockOffset {
    std::int64_t at_ns = 0;
    std::int64_t offset_ns = 0;
};

/* Collective. Ranks that share a clock compare it once. */
ClockOffset compare_clocks(const measure::Harness& harness, const Clock& clock);

profile::ClockLine line_between(const ClockOffset& begin, const ClockOffset& end);

}  // namespace lanewise::tuned
