// SPDX-License-Identifier: BSD-3-Clause
//
// Linear reduce-scatter: a linear reduce to rank 0, in rank order, and a linear
// scatter.
// Cost, with g the time to combine a byte and M a block: (n - 1)(2a + (n + 1) bM + n gM).

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/scatter/linearly.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    auto from_zero = shape;
    from_zero.root = 0;
    const Bounds bounds(shape, plain_placement(from_zero));
    const auto reduced = reduce_linearly(steps, shape, 0, bounds[shape.ranks]);
    scatter_linearly(steps, from_zero, reduced.at, reduced.ready, Pace::one_by_one);
    return steps.finish();
}

}  // namespace

extern const Algorithm reduce_scatter_linear{
    .collective = Collective::reduce_scatter,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(2a + (n+1)bM + ngM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
