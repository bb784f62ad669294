// SPDX-License-Identifier: BSD-3-Clause
//
// Ring broadcast: a binomial scatter, then an allgather round a ring, in which
// each rank passes on to its right what came from its left. Blocks that a rank
// holds from the scatter are not sent to it again (Zhou, Marjanovic,
// Niethammer and Gracia 2015).
// Cost: (log2(n) + n - 1) a + 2 (n - 1)/n bM.

#include "collectives/algorithm.hpp"
#include "collectives/bcast/in_blocks.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

bool holds(const CallShape& shape, int rank, int block) {
    return block >= rank && block < rank + binomial_subtree(rank, shape.ranks);
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const model::Slice vector{model::Place::receive, 0};
    const int n = shape.ranks;
    const int me = shape.relative();
    const int right = (me + 1) % n;
    const auto scattered = scatter_vector(steps, shape);
    const auto& bounds = scattered.bounds;
    std::vector<model::StepId> arrived(static_cast<std::size_t>(n), scattered.arrived);
    for (int round = 0; round + 1 < n; ++round) {
        const int block = (me - 1 - round + n) % n;
        if (holds(shape, me, block)) continue;
        arrived[static_cast<std::size_t>(block)] =
            steps.receive(shape.absolute(me - 1 + n), vector.at(bounds[block]), bounds.size(block));
    }
    for (int round = 0; round + 1 < n; ++round) {
        const int block = (me - round + n) % n;
        if (holds(shape, right, block)) continue;
        steps.send(shape.absolute(right), vector.at(bounds[block]), bounds.size(block),
                   {arrived[static_cast<std::size_t>(block)]});
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_ring{
    .collective = Collective::bcast,
    .name = "ring",
    .source = "Zhou, Marjanovic, Niethammer and Gracia, ICPP Workshops 2015",
    .cost = "(log2(n)+n-1)a + 2(n-1)/n bM",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
