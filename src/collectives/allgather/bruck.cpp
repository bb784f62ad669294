// SPDX-License-Identifier: BSD-3-Clause
//
// Bruck's allgather: in the round of distance d each rank receives the d blocks
// that follow those it has, in one message. Blocks stand in a row that begins with
// the rank's own and are put in their places at the end.
// Cost: ceil(log2(n)) a + (n - 1) bM.

#include "collectives/algorithm.hpp"
#include "collectives/allgather/rounds.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    const int n = shape.ranks;
    const int me = shape.rank;
    std::vector<Round> rounds;
    for (int distance = 1; distance < n; distance *= 2) {
        // The last round lacks no more than make up n.
        const int blocks = std::min(distance, n - distance);
        rounds.push_back({.to = (me - distance + n) % n,
                          .sent = {0, blocks},
                          .from = (me + distance) % n,
                          .received = {distance, distance + blocks}});
    }
    return allgather_in_rounds(shape, {.ranks = n, .root = me}, rounds);
}

}  // namespace

extern constexpr Algorithm allgather_bruck{
    .collective = Collective::allgather,
    .name = "bruck",
    .source = "Bruck, Ho, Kipnis, Upfal and Weathersby, TPDS 8(11), 1997",
    .cost = "ceil(log2(n))a + (n-1)bM",
    .needs = {},
    .build = build,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm allgatherv_bruck =
    vector_form(allgather_bruck, Collective::allgatherv, {});

}  // namespace lanewise::collectives
