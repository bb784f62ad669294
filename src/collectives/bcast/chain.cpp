// SPDX-License-Identifier: BSD-3-Clause
//
// Chain broadcast: each rank hands the whole vector to the next. Of use as the
// measure of a pipeline, which is the same in segments.
// Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    bcast_over_tree(steps, shape, chain_tree(shape.relative(), shape.ranks), whole(shape.count));
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_chain{
    .collective = Collective::bcast,
    .name = "chain",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
