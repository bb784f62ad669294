// SPDX-License-Identifier: BSD-3-Clause
//
// Rabenseifner's reduce: halves of the vector are exchanged until each node has a
// part of the result (reduce/halving.hpp), and the parts gather at the root the same
// way back. Where n is no power of two, pairs of ranks are folded into one first.
// In rank order.
// Cost, with g the time to combine a byte: 2 log2(n) a + (n - 1)/n (2b + g) M.

#include "collectives/algorithm.hpp"
#include "collectives/reduce/partial.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

// A node passes its part on in the first round, from the last on, in which it and the root differ.
void gather_parts(model::Builder& steps, const CallShape& shape, const Folding& folding,
                  const std::vector<Halved>& rounds, Partial& partial, model::Slice vector) {
    const int differs = folding.node_of(shape.rank) ^ folding.node_of(shape.root);
    std::vector<model::StepId> here{partial.ready()};
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
        const auto& [bit, peer, given, kept] = *round;
        if ((differs & bit) != 0) {
            steps.send_after(here, peer, vector.at(kept.begin), kept.count);
            return;
        }
        std::vector<model::StepId> free(partial.sends().begin(), partial.sends().end());
        free.push_back(partial.ready());
        here.push_back(steps.receive_after(free, peer, vector.at(given.begin), given.count));
    }
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Folding folding(shape.ranks, shape.root);
    const int me = shape.rank;
    if (!folding.is_node(me)) {
        steps.send(folding.partner(me), {Place::send, 0}, shape.count);
        return steps.finish();
    }
    const auto vector =
        shape.is_root() ? model::Slice{Place::receive, 0} : steps.scratch(shape.count);
    Partial partial(steps, me, shape.count, vector);
    if (folding.in_pair(me)) partial.take(folding.partner(me), {0, shape.count});
    const auto rounds = reduce_by_halving(partial, folding, me, shape.count);
    partial.settle(rounds.empty() ? Range{0, shape.count} : rounds.back().kept);
    gather_parts(steps, shape, folding, rounds, partial, vector);
    return steps.finish();
}

}  // namespace

extern const Algorithm reduce_rabenseifner{
    .collective = Collective::reduce,
    .name = "rabenseifner",
    .source = "Rabenseifner, ICCS 2004",
    .cost = "2 log2(n) a + (n-1)/n (2b+g)M",
    .needs = {},
    .build = build,
    .scratch_units_max = vector_times<2>,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
