// SPDX-License-Identifier: BSD-3-Clause
//
// Rabenseifner's allreduce: halves of the vector are exchanged until each node has a
// part of the result (reduce/halving.hpp), and the parts are exchanged the same way
// back. Where n is no power of two, pairs of ranks are folded into one first. In
// rank order.
// Cost, with g the time to combine a byte: 2 log2(n) a + (n - 1)/n (2b + g) M.

#include "collectives/algorithm.hpp"
#include "collectives/reduce/partial.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

void spread_parts(model::Builder& steps, const std::vector<Halved>& rounds, const Partial& partial,
                  model::Slice vector, std::vector<model::StepId>& here) {
    std::vector<model::StepId> free(partial.sends().begin(), partial.sends().end());
    free.push_back(partial.ready());
    std::vector<model::StepId> received;
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
        const auto& given = round->given;
        received.push_back(
            steps.receive_after(free, round->peer, vector.at(given.begin), given.count));
    }
    auto coming = received.begin();
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
        const auto& kept = round->kept;
        steps.send_after(here, round->peer, vector.at(kept.begin), kept.count);
        here.push_back(*coming++);
    }
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const model::Slice result{Place::receive, 0};
    const Folding folding(shape.ranks);
    const int me = shape.rank;
    const int partner = folding.partner(me);
    if (!folding.is_node(me)) {
        const auto sent = steps.send(partner, {Place::send, 0}, shape.count);
        steps.receive(partner, result, shape.count, {sent});
        return steps.finish();
    }
    Partial partial(steps, me, shape.count, result);
    if (folding.in_pair(me)) partial.take(partner, {0, shape.count});
    const auto rounds = reduce_by_halving(partial, folding, me, shape.count);
    partial.settle(rounds.empty() ? Range{0, shape.count} : rounds.back().kept);
    std::vector<model::StepId> here{partial.ready()};
    spread_parts(steps, rounds, partial, result, here);
    if (folding.in_pair(me)) steps.send_after(here, partner, result, shape.count);
    return steps.finish();
}

}  // namespace

extern const Algorithm allreduce_rabenseifner{
    .collective = Collective::allreduce,
    .name = "rabenseifner",
    .source = "Rabenseifner, ICCS 2004",
    .cost = "2 log2(n) a + (n-1)/n (2b+g)M",
    .needs = {},
    .build = build,
    .scratch_units_max = vector_times<1>,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
