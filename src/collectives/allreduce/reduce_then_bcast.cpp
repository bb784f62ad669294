// SPDX-License-Identifier: BSD-3-Clause
//
// Allreduce as a reduction to rank 0, in rank order, followed by a broadcast.
//
// Cost, with g the time to combine a byte:
// linear: rank 0 deals with one rank after the other. (n - 1)(2a + 2bM + gM).
// binomial: both stages use a binomial tree. log2(n) (2a + 2bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule finish(model::Builder& steps, CallShape shape, const Reduced& reduced,
                       const Node& node) {
    shape.root = 0;
    const auto ready = deliver(steps, shape, 0, reduced, shape.count);
    bcast_over_tree(steps, shape, node, whole(shape.count), {model::Place::receive, 0}, ready);
    return steps.finish();
}

model::Schedule build_linear(const CallShape& shape) {
    model::Builder steps;
    const auto reduced = reduce_linearly(steps, shape, 0, shape.count);
    return finish(steps, shape, reduced, star_tree(shape.rank, shape.ranks));
}

model::Schedule build_binomial(const CallShape& shape) {
    model::Builder steps;
    const auto reduced = reduce_over_tree(steps, shape, 0, shape.count);
    return finish(steps, shape, reduced, binomial_tree(shape.rank, shape.ranks));
}

}  // namespace

extern constexpr Algorithm allreduce_linear{
    .collective = Collective::allreduce,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(2a+2bM+gM)",
    .needs = {},
    .build = build_linear,
    .scratch_units_max = vector_times<3>,
    .bracketing = Bracketing::from_the_right,
};

extern constexpr Algorithm allreduce_binomial{
    .collective = Collective::allreduce,
    .name = "binomial",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "log2(n)(2a+2bM+gM)",
    .needs = {},
    .build = build_binomial,
    .scratch_units_max = vector_times<4>,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
