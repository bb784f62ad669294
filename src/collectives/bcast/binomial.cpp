// SPDX-License-Identifier: BSD-3-Clause
//
// Binomial broadcast: each round doubles the ranks that have the vector.
// Cost: ceil(log2(n)) (a + bM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    bcast_over_tree(steps, shape, binomial_tree(shape.relative(), shape.ranks), whole(shape.count));
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_binomial{
    .collective = Collective::bcast,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "ceil(log2(n))(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
