// SPDX-License-Identifier: BSD-3-Clause
//
// Meetings measured: trips between pairs of ranks, or one rank and two peers.
//
// Within a round every meeting runs by itself, with its own repetition rule
// decided at its sender; between rounds all ranks meet at a barrier. Meetings
// of one round disturb each other only where they share a link, which on a
// switch they do not (paper 000, section 3). The rounds are gone through
// twice: the first batch of every meeting, then the rest, so that its batches
// lie apart in time.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "measure/bench.hpp"
#include "measure/pair_rounds.hpp"
#include "measure/round_trips.hpp"

namespace lanewise::measure {

struct MeetingPlan {
    std::vector<Round> rounds;
    std::uint64_t there_bytes = 0;
    std::uint64_t back_bytes = 0;
    const Trip *trip = &trips().front(); /* there and back */
};

/* One Measured a meeting, sorted as one_by_one sorts them; the same on every rank. */
Result<std::vector<Measured>> measure_meetings(const Bench& bench, const MeetingPlan& plan);

}  // namespace lanewise::measure
