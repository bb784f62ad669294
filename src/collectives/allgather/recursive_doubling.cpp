// SPDX-License-Identifier: BSD-3-Clause
//
// Recursive doubling allgather: in the round of distance d each rank exchanges all
// that it has with the rank whose number differs in that one bit.
// Cost: log2(n) a + (n - 1) bM.

#include "collectives/algorithm.hpp"
#include "collectives/allgather/rounds.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

BlockRange aligned(int rank, int distance) {
    return {rank & -distance, (rank & -distance) + distance};
}

model::Schedule build(const CallShape& shape) {
    std::vector<Round> rounds;
    for (int distance = 1; distance < shape.ranks; distance *= 2) {
        const int peer = shape.rank ^ distance;
        rounds.push_back({.to = peer,
                          .sent = aligned(shape.rank, distance),
                          .from = peer,
                          .received = aligned(peer, distance)});
    }
    return allgather_in_rounds(shape, {.ranks = shape.ranks}, rounds);
}

}  // namespace

extern constexpr Algorithm allgather_recursive_doubling{
    .collective = Collective::allgather,
    .name = "recursive_doubling",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "log2(n)a + (n-1)bM",
    .needs = {.power_of_two = true},
    .build = build,
    .scratch_units_max = all_blocks_unless_even,
};
extern constexpr Algorithm allgatherv_recursive_doubling =
    vector_form(allgather_recursive_doubling, Collective::allgatherv, {.power_of_two = true});

}  // namespace lanewise::collectives
