// SPDX-License-Identifier: BSD-3-Clause
//
// Dissemination barrier: in the round of distance d each rank signals to the rank
// that far ahead, when the signals of the rounds before have come.
// Cost: ceil(log2(n)) a.

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    std::vector<model::StepId> awaited;
    for (int distance = 1; distance < n; distance *= 2) {
        awaited.push_back(steps.await((shape.rank - distance + n) % n));
    }
    auto before = model::no_step;
    auto round = awaited.begin();
    for (int distance = 1; distance < n; distance *= 2) {
        steps.signal((shape.rank + distance) % n, {before});
        before = *round++;
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm barrier_dissemination{
    .collective = Collective::barrier,
    .name = "dissemination",
    .source = "Hensgen, Finkel and Manber, IJPP 17(1), 1988",
    .cost = "ceil(log2(n))a",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
