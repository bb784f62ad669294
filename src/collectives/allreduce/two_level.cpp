// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level allreduce: on each host a reduction to its leader, among the leaders recursive
// doubling, then on each host a broadcast from its leader.
// Cost, on h hosts of k ranks each, with g the time to combine a byte:
// log2(h) (a + bM + gM) between hosts and log2(k) (2a + 2bM + gM) inside.

#include "collectives/algorithm.hpp"
#include "collectives/hosts.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/reduce/partial.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

constexpr Slice result{Place::receive, 0};

/* What the leaders of all hosts have together, in the receive buffer; answers when. */
StepId combine_leaders(model::Builder& steps, const CallShape& shape, const Leaders& leaders,
                       const Reduced& reduced) {
    const Folding folding(static_cast<int>(leaders.ranks.size()));
    const auto leader = [&](int number) { return leaders.ranks[static_cast<std::size_t>(number)]; };
    const int partner = folding.in_pair(leaders.own) ? leader(folding.partner(leaders.own)) : -1;
    const Range vector{0, shape.count};
    if (!folding.is_node(leaders.own)) {
        const auto sent = steps.send(partner, reduced.at, shape.count, {reduced.ready});
        return steps.receive(partner, result, shape.count, {sent, reduced.ready});
    }
    Partial partial(steps, shape.rank, shape.count, result, reduced.at, reduced.ready);
    if (partner >= 0) partial.take(partner, vector);
    for (int bit = 1; bit < folding.nodes; bit *= 2) {
        const int node = folding.node_of(leaders.own) ^ bit;
        partial.exchange(leader(folding.rank_at(node)), vector, vector);
    }
    if (partner >= 0) steps.send(partner, partial.value(), shape.count, {partial.ready()});
    partial.settle(vector);
    return partial.ready();
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto place = host_tree(shape, 0);
    const auto leaders = leaders_of(shape, 0);
    const std::vector<int> children(place.members.rbegin(), place.members.rend());
    const auto reduced = combine_children(steps, shape.rank, children, shape.count);
    StepId ready = model::no_step;
    if (leaders.own >= 0) {
        ready = combine_leaders(steps, shape, leaders, reduced);
    } else {
        const auto sent = steps.send(place.parent, reduced.at, shape.count, {reduced.ready});
        ready = steps.receive(place.parent, result, shape.count, {sent});
    }
    for (const int member : place.members) steps.send(member, result, shape.count, {ready});
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allreduce_two_level{
    .collective = Collective::allreduce,
    .name = "two_level",
    .source = "Karonis et al., IPDPS 2000",
    .cost = "log2(h)(a+bM+gM)+log2(k)(2a+2bM+gM)",
    .needs = {.commutative = true, .hosts = true},
    .build = build,
    .scratch_units_max = vector_times<5>,
};

}  // namespace lanewise::collectives
