// SPDX-License-Identifier: BSD-3-Clause
//
// Flow: the segments of a scatter over lanes, each with the ranks it passes:
// root, lane sender, lane receiver, owner, those that are one and the same only
// once. A gather is the same flow backwards. The order of segments is the same
// on every rank, which is what makes the n-th send meet the n-th receive.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/lanes/plan.hpp"
#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

struct Travelling {
    Part part;
    int lane = 0;
    std::array<int, 4> ranks = {}; /* from the root to the owner */
    int stops = 0;                 /* how many of `ranks` there are */

    /* Where `rank` stands among `ranks`; -1: the segment does not pass it. */
    int place_of(int rank) const;
};

/*
 * The parts of all lanes in segments of at most `segment` units. Lanes take
 * turns, each as often as it has segments, so that all are under way at once
 * and end together.
 */
std::vector<Travelling> flow_of(const Shape& shape, const std::vector<Lane>& lanes,
                                std::int64_t segment);

}  // namespace lanewise::collectives
