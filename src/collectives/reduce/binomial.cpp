// SPDX-License-Identifier: BSD-3-Clause
//
// Binomial reduce, in rank order for any root: the ranks from the root on make up
// one binomial tree and those before it another, which the root takes in last.
// Cost, with g the time to combine a byte: (log2(n) + 1)(a + bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/reduce/in_order.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    const auto reduced = reduce_over_tree(steps, shape, shape.root, shape.count);
    deliver(steps, shape, shape.root, reduced, shape.count);
    return steps.finish();
}

}  // namespace

extern const Algorithm reduce_binomial{
    .collective = Collective::reduce,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "(log2(n)+1)(a+bM+gM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
