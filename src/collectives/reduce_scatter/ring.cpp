// SPDX-License-Identifier: BSD-3-Clause
//
// Ring reduce-scatter: each block goes round the ring, in segments, and is combined
// on the way, in the order of the ring, so the operator must commute.
// Cost, with g the time to combine a byte and M a block: (n - 1)(a + bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/reduce_scatter/round_ring.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Bounds bounds(shape, {.ranks = shape.ranks});
    const auto reduced = reduce_round_ring(steps, shape, bounds);
    for (int i = 0; i < reduced.pieces.number(); ++i) {
        const auto begin = reduced.pieces.begin(i);
        steps.copy(reduced.at.at(begin), {model::Place::receive, begin}, reduced.pieces.size(i),
                   {reduced.ready[static_cast<std::size_t>(i)]});
    }
    return steps.finish();
}

// Of which one comes in, one is added to and one leaves.
std::int64_t three_blocks(const CallShape& shape) {
    return 3 * largest_block(shape);
}

}  // namespace

extern const Algorithm reduce_scatter_ring{
    .collective = Collective::reduce_scatter,
    .name = "ring",
    .source = "Patarasuk and Yuan, JPDC 69(2), 2009",
    .cost = "(n-1)(a+bM+gM)",
    .needs = {.commutative = true, .segmented = true},
    .build = build,
    .scratch_units_max = three_blocks,
};

}  // namespace lanewise::collectives
