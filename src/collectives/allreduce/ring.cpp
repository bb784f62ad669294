// SPDX-License-Identifier: BSD-3-Clause
//
// Ring allreduce: each block of the vector goes round the ring once to be reduced
// and once to be spread, in segments. Blocks are combined in the order of the ring,
// so the operator must commute.
// Cost, with g the time to combine a byte: 2 (n - 1) a + (n - 1)/n (2b + g) M.

#include "collectives/algorithm.hpp"
#include "collectives/reduce_scatter/round_ring.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::StepId;

// The blocks of the result, from the own one on, each in the pieces that came in.
void spread_round_ring(model::Builder& steps, const CallShape& shape, const Bounds& bounds,
                       const RingReduced& reduced, std::vector<StepId> here) {
    const int n = shape.ranks;
    const int left = (shape.rank - 1 + n) % n;
    const auto result = [&](int block) { return model::Slice{Place::receive, bounds[block]}; };
    std::vector<std::vector<StepId>> arrived{std::move(here)};
    // Where buffers coincide, the own contributions must be gone before a result comes in.
    auto gone = reduced.sent;
    for (int distance = 1; distance < n; ++distance) {
        const int block = (shape.rank - distance + n) % n;
        const Pieces pieces{bounds.size(block), reduced.pieces.piece};
        auto& ids = arrived.emplace_back();
        for (int i = 0; i < pieces.number(); ++i) {
            ids.push_back(
                steps.receive_after(gone, left, result(block).at(pieces.begin(i)), pieces.size(i)));
            gone.clear();
        }
    }
    for (int distance = 0; distance + 1 < n; ++distance) {
        const int block = (shape.rank - distance + n) % n;
        const Pieces pieces{bounds.size(block), reduced.pieces.piece};
        const auto& ids = arrived[static_cast<std::size_t>(distance)];
        for (int i = 0; i < pieces.number(); ++i) {
            steps.send((shape.rank + 1) % n, result(block).at(pieces.begin(i)), pieces.size(i),
                       {ids[static_cast<std::size_t>(i)]});
        }
    }
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Bounds bounds(shape.count, shape.ranks);
    const auto reduced = reduce_round_ring(steps, shape, bounds);
    std::vector<StepId> here;
    for (int i = 0; i < reduced.pieces.number(); ++i) {
        const auto begin = reduced.pieces.begin(i);
        here.push_back(
            steps.copy(reduced.at.at(begin), {Place::receive, bounds[shape.rank] + begin},
                       reduced.pieces.size(i), {reduced.ready[static_cast<std::size_t>(i)]}));
    }
    spread_round_ring(steps, shape, bounds, reduced, std::move(here));
    return steps.finish();
}

// Of which one comes in, one is added to and one leaves.
std::int64_t three_blocks(const CallShape& shape) {
    return 3 * Bounds(shape.count, shape.ranks).size(0);
}

}  // namespace

extern const Algorithm allreduce_ring{
    .collective = Collective::allreduce,
    .name = "ring",
    .source = "Patarasuk and Yuan, JPDC 69(2), 2009",
    .cost = "2(n-1)a + (n-1)/n (2b+g)M",
    .needs = {.commutative = true, .segmented = true},
    .build = build,
    .scratch_units_max = three_blocks,
};

}  // namespace lanewise::collectives
