// SPDX-License-Identifier: BSD-3-Clause
//
// Linear allreduce: rank 0 receives from one rank after the other, combines in
// rank order and sends the result to one after the other.
// Cost, with g the time to combine a byte: (n - 1)(2a + 2bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/reduce/in_order.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    auto from_zero = shape;
    from_zero.root = 0;
    const auto reduced = reduce_linearly(steps, shape, 0, shape.count);
    const auto ready = deliver(steps, shape, 0, reduced, shape.count);
    bcast_over_tree(steps, from_zero, star_tree(shape.rank, shape.ranks), whole(shape.count),
                    {model::Place::receive, 0}, ready);
    return steps.finish();
}

}  // namespace

extern const Algorithm allreduce_linear{
    .collective = Collective::allreduce,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(2a+2bM+gM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
