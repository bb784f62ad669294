// SPDX-License-Identifier: BSD-3-Clause
//
// Direct allreduce: each rank combines one block of the vector and sends it to all others.
// Cost, with g the time to combine a byte: 2n a + 2 (n - 1)/n bM + (n - 1)/n gM.

#include "collectives/reduce/direct.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

void spread(model::Builder& steps, const CallShape& shape, const Bounds& bounds,
            DirectReduction& reduction, int piece) {
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto begin = reduction.begin(piece);
    const model::Slice wanted{Place::receive, bounds[me] + begin};
    const auto result = reduction.combine(piece, wanted);
    const auto ready = steps.copy(result.at, wanted, result.count, {result.ready});
    reduction.leave(piece, ready);
    for (int distance = 1; distance < n; ++distance) {
        steps.send((me + distance) % n, wanted, result.count, {ready});
    }
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        // In place, the own part that lies there must have left.
        steps.receive(from, {Place::receive, bounds[from] + begin}, reduction.size(piece, from),
                      {reduction.sent(piece, from)});
    }
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Bounds bounds(shape.count, shape.ranks);
    DirectReduction reduction(steps, shape, bounds, direct_piece(shape, bounds));
    if (reduction.pieces() > 0) reduction.exchange(0);
    for (int piece = 0; piece < reduction.pieces(); ++piece) {
        if (piece + 1 < reduction.pieces()) reduction.exchange(piece + 1);
        spread(steps, shape, bounds, reduction, piece);
    }
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allreduce_direct{
    .collective = Collective::allreduce,
    .name = "direct",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, pairwise exchange",
    .cost = "2na + (n-1)/n (2b+g)M",
    .needs = {.segmented = true},
    .build = build,
    .scratch_units_max = direct_scratch_units_max,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
