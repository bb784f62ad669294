// SPDX-License-Identifier: BSD-3-Clause
//
// Binomial scatter: a rank receives the blocks of its subtree in one message,
// keeps its own and hands on the halves, the largest first.
// Cost: a log2(n) + b (n - 1) M.

#include "collectives/algorithm.hpp"
#include "collectives/scatter/over_tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    scatter_over_tree(steps, shape, plain_placement(shape), {model::Place::send, 0},
                      model::no_step);
    return steps.finish();
}

}  // namespace

extern const Algorithm scatter_binomial{
    .collective = Collective::scatter,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a log2(n) + b(n-1)M",
    .needs = {},
    .build = build,
};

extern const Algorithm scatterv_binomial{
    .collective = Collective::scatterv,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a log2(n) + b(n-1)M",
    .needs = {.all_counts = true},
    .build = build,
};

}  // namespace lanewise::collectives
