// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level broadcast: down a binomial tree over one leader of each host, then on each host down a
// binomial tree from its leader, so that every host gets the vector once. In segments, so that a
// host passes on what it has while the rest is coming.
// Cost, on h hosts of k ranks each: log2(h) (a + bM) between hosts and log2(k) (a + bM) inside.

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/hosts.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::int64_t segment_bytes = std::int64_t{128} * 1024;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto place = host_tree(shape, shape.root);
    const auto relative = [&](int rank) { return (rank - shape.root + shape.ranks) % shape.ranks; };
    Node node;
    if (place.parent >= 0) node.parent = relative(place.parent);
    for (const auto *children : {&place.leaders, &place.members}) {
        for (const int child : *children) node.children.push_back({.rank = relative(child)});
    }
    bcast_over_tree(steps, shape, node, segments_of(shape, shape.count, segment_bytes));
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm bcast_two_level{
    .collective = Collective::bcast,
    .name = "two_level",
    .source = "Kielmann et al., MagPIe, PPoPP 1999",
    .cost = "(log2(h)+log2(k))(a+bM)",
    .needs = {.segmented = true, .hosts = true},
    .build = build,
};

}  // namespace lanewise::collectives
