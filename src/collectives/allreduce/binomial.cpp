// SPDX-License-Identifier: BSD-3-Clause
//
// Binomial allreduce: a binomial reduce to rank 0, in rank order, and a binomial
// broadcast.
// Cost, with g the time to combine a byte: log2(n) (2a + 2bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/reduce/in_order.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    auto from_zero = shape;
    from_zero.root = 0;
    const auto reduced = reduce_over_tree(steps, shape, 0, shape.count);
    const auto ready = deliver(steps, shape, 0, reduced, shape.count);
    bcast_over_tree(steps, from_zero, binomial_tree(shape.rank, shape.ranks), whole(shape.count),
                    {model::Place::receive, 0}, ready);
    return steps.finish();
}

}  // namespace

extern const Algorithm allreduce_binomial{
    .collective = Collective::allreduce,
    .name = "binomial",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "log2(n)(2a+2bM+gM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
