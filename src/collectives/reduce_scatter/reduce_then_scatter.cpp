// SPDX-License-Identifier: BSD-3-Clause
//
// Reduce-scatter as a reduction to rank 0, in rank order, followed by a scatter.
//
// Cost, with g the time to combine a byte and M a block:
// linear: (n - 1)(2a + (n + 1) bM + n gM).
// binomial: log2(n) (2a + n bM + n gM) + (n - 1) bM.

#include "collectives/algorithm.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/scatter/scatter.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

CallShape from_zero(CallShape shape) {
    shape.root = 0;
    return shape;
}

model::Schedule build_linear(const CallShape& shape) {
    model::Builder steps;
    const auto reduced = reduce_linearly(steps, shape, 0, units_of_all_blocks(shape));
    scatter_linearly(steps, from_zero(shape), reduced.at, reduced.ready, Posting::one_by_one);
    return steps.finish();
}

model::Schedule build_binomial(const CallShape& shape) {
    model::Builder steps;
    const auto scattered = from_zero(shape);
    const auto reduced = reduce_over_tree(steps, shape, 0, units_of_all_blocks(shape));
    scatter_over_tree(steps, scattered, plain_order(scattered), reduced.at, reduced.ready,
                      binomial_tree(scattered.relative(), scattered.ranks), Posting::one_by_one);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm reduce_scatter_linear{
    .collective = Collective::reduce_scatter,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(2a + (n+1)bM + ngM)",
    .needs = {},
    .build = build_linear,
    .scratch_units_max = all_blocks_times<3>,
    .bracketing = Bracketing::from_the_right,
};

extern constexpr Algorithm reduce_scatter_binomial{
    .collective = Collective::reduce_scatter,
    .name = "binomial",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "log2(n)(2a + nbM + ngM) + (n-1)bM",
    .needs = {},
    .build = build_binomial,
    .scratch_units_max = all_blocks_times<5>,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
