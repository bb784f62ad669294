// SPDX-License-Identifier: BSD-3-Clause
//
// Linear reduce: the root receives from one rank after the other, the highest
// first, and combines in rank order.
// Cost, with g the time to combine a byte: (n - 1)(a + bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/reduce/in_order.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    const auto reduced = reduce_linearly(steps, shape, shape.root, shape.count);
    deliver(steps, shape, shape.root, reduced, shape.count);
    return steps.finish();
}

}  // namespace

extern const Algorithm reduce_linear{
    .collective = Collective::reduce,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(a+bM+gM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
