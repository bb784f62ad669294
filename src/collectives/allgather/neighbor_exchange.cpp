// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbour exchange allgather: ranks 2i and 2i+1 first exchange their blocks, then
// each rank exchanges the pair of blocks that it received last, alternately with
// its left and its right neighbour.
// Cost: n/2 a + (n - 1) bM.

#include "collectives/algorithm.hpp"
#include "collectives/allgather/rounds.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

// Even ranks turn to the left in odd rounds, odd ranks in even ones.
bool turns_left(int rank, int round) {
    return (round % 2 == 1) == (rank % 2 == 0);
}

// The pair of blocks that a rank gets in a round: from ever farther away on either side. In round
// 0 it makes up its own pair.
BlockRange pair_got(const CallShape& shape, int round) {
    const int distance = (round + 1) / 2;
    const int pairs = shape.ranks / 2;
    const int ahead = turns_left(shape.rank, round) ? pairs - distance : distance;
    const int pair = (shape.rank / 2 + ahead) % pairs;
    return {2 * pair, 2 * pair + 2};
}

model::Schedule build(const CallShape& shape) {
    const int n = shape.ranks;
    const int me = shape.rank;
    const int other = me ^ 1;
    std::vector<Round> rounds{
        {.to = other, .sent = {me, me + 1}, .from = other, .received = {other, other + 1}}};
    for (int round = 1; round < n / 2; ++round) {
        const int neighbour = (me + (turns_left(me, round) ? n - 1 : 1)) % n;
        rounds.push_back({.to = neighbour,
                          .sent = pair_got(shape, round - 1),
                          .from = neighbour,
                          .received = pair_got(shape, round)});
    }
    return allgather_in_rounds(shape, {.ranks = n}, rounds);
}

}  // namespace

extern constexpr Algorithm allgather_neighbor_exchange{
    .collective = Collective::allgather,
    .name = "neighbor_exchange",
    .source = "Chen, Zhang, Zhang and Yuan, HPC Asia 2005",
    .cost = "n/2 a + (n-1)bM",
    .needs = {.even_ranks = true},
    .build = build,
    .scratch_units_max = all_blocks_unless_even,
};
extern constexpr Algorithm allgatherv_neighbor_exchange =
    vector_form(allgather_neighbor_exchange, Collective::allgatherv, {.even_ranks = true});

}  // namespace lanewise::collectives
