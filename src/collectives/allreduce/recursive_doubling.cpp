// SPDX-License-Identifier: BSD-3-Clause
//
// Recursive doubling allreduce: in the round of distance d a node exchanges what it
// has of the whole vector with the node d away, and both combine, in rank order.
// Where n is no power of two, pairs of ranks are folded into one first.
// Cost, with g the time to combine a byte: log2(n) (a + bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/reduce/partial.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const model::Slice result{Place::receive, 0};
    const Folding folding(shape.ranks);
    const Range vector{0, shape.count};
    const int me = shape.rank;
    const int partner = folding.partner(me);
    if (!folding.is_node(me)) {
        const auto sent = steps.send(partner, {Place::send, 0}, shape.count);
        steps.receive(partner, result, shape.count, {sent});
        return steps.finish();
    }
    Partial partial(steps, me, shape.count, result);
    if (folding.in_pair(me)) partial.take(partner, vector);
    for (int bit = 1; bit < folding.nodes; bit *= 2) {
        partial.exchange(folding.rank_at(folding.node_of(me) ^ bit), vector, vector);
    }
    if (folding.in_pair(me)) {
        steps.send(partner, partial.value(), shape.count, {partial.ready()});
    }
    partial.settle(vector);
    return steps.finish();
}

}  // namespace

extern const Algorithm allreduce_recursive_doubling{
    .collective = Collective::allreduce,
    .name = "recursive_doubling",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "log2(n)(a+bM+gM)",
    .needs = {},
    .build = build,
    .scratch_units_max = vector_times<1>,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
