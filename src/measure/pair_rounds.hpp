// SPDX-License-Identifier: BSD-3-Clause
//
// Pairs and triplets: in which rounds ranks meet, no rank twice in a round.
//
// Pairs by the circle method: all ranks but one stand on a circle that turns
// by one place a round, opposite places meet. That makes n-1 rounds for even
// n and n for odd n, the fewest possible. Triplets are packed greedily, first
// fit in a fixed order. Pure.

#pragma once

#include <vector>

namespace lanewise::measure {

/* One experiment: `sender` sends to each of `peers` and hears from each. */
struct Meeting {
    int sender = 0;
    std::vector<int> peers;
};

using Round = std::vector<Meeting>;

/* Every pair i < j of n ranks once, in rounds of disjoint pairs. */
std::vector<Round> pair_rounds(int rank_count);

/* Every i -> (j, k) with j < k once, in rounds of disjoint triplets. */
std::vector<Round> triplet_rounds(int rank_count);

/* The same meetings one after another, in the order (0,1), (0,2), ... */
std::vector<Round> one_by_one(const std::vector<Round>& rounds);

}  // namespace lanewise::measure
