// SPDX-License-Identifier: BSD-3-Clause
//
// Binomial gather: a rank collects the blocks of its subtree behind its own and
// passes them on in one message.
// Cost: a log2(n) + b (n - 1) M.

#include "collectives/algorithm.hpp"
#include "collectives/gather/over_tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return gather_over_tree(shape, plain_placement(shape));
}

}  // namespace

extern const Algorithm gather_binomial{
    .collective = Collective::gather,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a log2(n) + b(n-1)M",
    .needs = {},
    .build = build,
};

extern const Algorithm gatherv_binomial{
    .collective = Collective::gatherv,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a log2(n) + b(n-1)M",
    .needs = {.all_counts = true},
    .build = build,
};

}  // namespace lanewise::collectives
