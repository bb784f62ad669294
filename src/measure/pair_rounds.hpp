// SPDX-License-Identifier: BSD-3-Clause
//
// Pair rounds: all pairs or triplets of ranks, in rounds in which no rank appears
// twice.
//
// Pairs by the circle method: all ranks but one are placed on a circle that rotates
// by one place per round; opposite places form a pair. That gives n-1 rounds for
// even n and n for odd n, the fewest possible. Triplets are packed greedily, first
// fit in a fixed order. Pure.

#pragma once

#include <vector>

namespace lanewise::measure {

/* The ranks of one experiment: `sender` sends to each of `peers` and receives from each. */
struct Pairing {
    int sender = 0;
    std::vector<int> peers;
};

using Round = std::vector<Pairing>;

/* Every pair i < j of n ranks once, in rounds of disjoint pairs. */
std::vector<Round> pair_rounds(int rank_count);

/* Every i -> (j, k) with j < k once, in rounds of disjoint triplets. */
std::vector<Round> triplet_rounds(int rank_count);

/* The same pairings one after another, in the order (0,1), (0,2), ... */
std::vector<Round> one_by_one(const std::vector<Round>& rounds);

}  // namespace lanewise::measure
