// SPDX-License-Identifier: BSD-3-Clause
//
// Linear broadcast: the root sends to one rank after the other.
// Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    bcast_over_tree(steps, shape, star_tree(shape.relative(), shape.ranks), whole(shape.count));
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_linear{
    .collective = Collective::bcast,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
