// SPDX-License-Identifier: BSD-3-Clause
//
// Direct reduce-scatter: each rank gets its block from all others and combines them.
// Cost, with g the time to combine a byte and M a block: (n - 1)(a + bM + gM).

#include "collectives/reduce/direct.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Bounds bounds(shape, {.ranks = shape.ranks});
    // In one piece, so that no message waits for another.
    DirectReduction reduction(steps, shape, bounds, whole(largest_block(shape, bounds)).piece);
    if (reduction.pieces() == 0) return steps.finish();
    reduction.exchange(0);
    const model::Slice wanted{model::Place::receive, 0};
    const auto result = reduction.combine(0, wanted);
    steps.copy(result.at, wanted, result.count, {result.ready});
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm reduce_scatter_direct{
    .collective = Collective::reduce_scatter,
    .name = "direct",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, pairwise exchange",
    .cost = "(n-1)(a+bM+gM)",
    .needs = {},
    .build = build,
    .scratch_units_max = block_of_all_ranks,
    .posts_at_once = true,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
