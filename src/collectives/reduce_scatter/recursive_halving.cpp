// SPDX-License-Identifier: BSD-3-Clause
//
// Recursive halving reduce-scatter: in the round of distance d, from the largest on,
// a node exchanges with the node d away the blocks of the other's half of what both
// have. Where n is no power of two, pairs of ranks are folded into one first.
// Nodes far apart combine first, so the operator must commute.
// Cost, with g the time to combine a byte and M a block:
// log2(n) a + (n - 1)(b + g) M.

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/reduce/partial.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

// The blocks of so many nodes, as elements of the vector.
Range blocks_of(const Folding& folding, const Bounds& bounds, int node, int nodes) {
    const int first = folding.first_rank(node);
    return {bounds[first], bounds.size(first, folding.first_rank(node + nodes))};
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Folding folding(shape.ranks);
    const Bounds bounds(shape, {.ranks = shape.ranks});
    const model::Slice result{Place::receive, 0};
    const auto total = bounds[shape.ranks];
    const int me = shape.rank;
    const int partner = folding.partner(me);
    if (!folding.is_node(me)) {
        steps.send(partner, {Place::send, 0}, total);
        steps.receive(partner, result, bounds.size(me));
        return steps.finish();
    }
    Partial partial(steps, me, total, steps.scratch(total));
    if (folding.in_pair(me)) partial.take(partner, {0, total});
    const int node = folding.node_of(me);
    for (int distance = folding.nodes / 2; distance > 0; distance /= 2) {
        const int peer = node ^ distance;
        partial.exchange(folding.rank_at(peer),
                         blocks_of(folding, bounds, peer & -distance, distance),
                         blocks_of(folding, bounds, node & -distance, distance));
    }
    const auto value = partial.value();
    if (folding.in_pair(me)) {
        steps.send(partner, value.at(bounds[partner]), bounds.size(partner), {partial.ready()});
    }
    steps.copy(value.at(bounds[me]), result, bounds.size(me), {partial.ready()});
    return steps.finish();
}

}  // namespace

extern const Algorithm reduce_scatter_recursive_halving{
    .collective = Collective::reduce_scatter,
    .name = "recursive_halving",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "log2(n)a + (n-1)(b+g)M",
    .needs = {.commutative = true},
    .build = build,
    .scratch_units_max = all_blocks_times<2>,
};

}  // namespace lanewise::collectives
