// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level reduction: on each host up a binomial tree to its leader, then up one over the leaders
// to the root, so that every host sends one vector.
// Cost, on h hosts of k ranks each, with g the time to combine a byte:
// log2(h) (a + bM + gM) between hosts and log2(k) (a + bM + gM) inside.

#include "collectives/algorithm.hpp"
#include "collectives/hosts.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto place = host_tree(shape, shape.root);
    // Those with few ranks below them are ready first.
    std::vector<int> children(place.members.rbegin(), place.members.rend());
    children.insert(children.end(), place.leaders.rbegin(), place.leaders.rend());
    const auto reduced = combine_children(steps, shape.rank, children, shape.count);
    if (place.parent >= 0) steps.send(place.parent, reduced.at, shape.count, {reduced.ready});
    deliver(steps, shape, shape.root, reduced, shape.count);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm reduce_two_level{
    .collective = Collective::reduce,
    .name = "two_level",
    .source = "Kielmann et al., MagPIe, PPoPP 1999",
    .cost = "(log2(h)+log2(k))(a+bM+gM)",
    .needs = {.commutative = true, .hosts = true},
    .build = build,
    .scratch_units_max = vector_times<4>,
};

}  // namespace lanewise::collectives
