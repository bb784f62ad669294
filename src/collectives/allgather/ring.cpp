// SPDX-License-Identifier: BSD-3-Clause
//
// Ring allgather: each rank passes on to its right what came from its left.
// Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto block = [&](int distance) { return (me - distance + n) % n; };
    std::vector<model::StepId> arrived(static_cast<std::size_t>(n), model::no_step);
    for (int distance = 1; distance < n; ++distance) {
        const int r = block(distance);
        arrived[static_cast<std::size_t>(distance)] =
            steps.receive(block(1), {Place::receive, shape.offset_of(r)}, shape.count_of(r));
    }
    for (int distance = 0; distance + 1 < n; ++distance) {
        const int r = block(distance);
        const model::Slice own{Place::send, 0};
        const model::Slice passed_on{Place::receive, shape.offset_of(r)};
        steps.send((me + 1) % n, distance == 0 ? own : passed_on, shape.count_of(r),
                   {arrived[static_cast<std::size_t>(distance)]});
    }
    steps.copy({Place::send, 0}, {Place::receive, shape.offset_of(me)}, shape.count_of(me));
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allgather_ring{
    .collective = Collective::allgather,
    .name = "ring",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};
extern constexpr Algorithm allgatherv_ring =
    vector_form(allgather_ring, Collective::allgatherv, {});

}  // namespace lanewise::collectives
