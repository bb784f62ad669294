// SPDX-License-Identifier: BSD-3-Clause
//
// Pipeline broadcast: a chain in which every rank hands on each of S segments as
// soon as it has it.
// Cost: (n - 2 + S)(a + b M/S).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::int64_t segment_bytes = 32 * 1024;

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    bcast_over_tree(steps, shape, chain_tree(shape.relative(), shape.ranks),
                    segments_of(shape, shape.count, segment_bytes));
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_pipeline{
    .collective = Collective::bcast,
    .name = "pipeline",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-2+S)(a+bM/S)",
    .needs = {.segmented = true},
    .build = build,
};

}  // namespace lanewise::collectives
