// SPDX-License-Identifier: BSD-3-Clause
//
// Rounds: an allgather as a list of exchanges, each of one row of blocks for another. What a rank
// sends in a round it has from the rounds before.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"
#include "collectives/rank_order.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Nodes [begin, end) of the order in which the blocks stand. */
struct BlockRange {
    int begin = 0;
    int end = 0;
};

struct Round {
    int to = 0;
    BlockRange sent;
    int from = 0;
    BlockRange received;
};

model::Schedule allgather_in_rounds(const CallShape& shape, const RankOrder& order,
                                    const std::vector<Round>& rounds);

}  // namespace lanewise::collectives
