// SPDX-License-Identifier: BSD-3-Clause
//
// Binomial reduce-scatter: a binomial reduce to rank 0, in rank order, and a
// binomial scatter.
// Cost, with g the time to combine a byte and M a block:
// log2(n) (2a + n bM + n gM) + (n - 1) bM.

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/scatter/over_tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    auto from_zero = shape;
    from_zero.root = 0;
    const Bounds bounds(shape, plain_placement(from_zero));
    const auto reduced = reduce_over_tree(steps, shape, 0, bounds[shape.ranks]);
    scatter_over_tree(steps, from_zero, plain_placement(from_zero), reduced.at, reduced.ready);
    return steps.finish();
}

}  // namespace

extern const Algorithm reduce_scatter_binomial{
    .collective = Collective::reduce_scatter,
    .name = "binomial",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "log2(n)(2a + nbM + ngM) + (n-1)bM",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
