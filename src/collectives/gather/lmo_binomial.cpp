// SPDX-License-Identifier: BSD-3-Clause
//
// Heterogeneous binomial gather: the binomial tree with the large subtrees at the
// ranks that pass data to the root fastest, as the LMO model tells them
// (placement.hpp).
// Cost: that of the same scatter, backwards.

#include "collectives/algorithm.hpp"
#include "collectives/gather/over_tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return gather_over_tree(shape, lmo_placement(shape, Direction::to_root));
}

}  // namespace

extern const Algorithm gather_lmo_binomial{
    .collective = Collective::gather,
    .name = "lmo_binomial",
    .source = "Dichev, Rychkov and Lastovetsky, EuroMPI 2010",
    .cost = "at most a log2(n) + b(n-1)M of the slowest link",
    .needs = {.platform = true},
    .build = build,
};

extern const Algorithm gatherv_lmo_binomial{
    .collective = Collective::gatherv,
    .name = "lmo_binomial",
    .source = "Dichev, Rychkov and Lastovetsky, EuroMPI 2010",
    .cost = "at most a log2(n) + b(n-1)M of the slowest link",
    .needs = {.all_counts = true, .platform = true},
    .build = build,
};

}  // namespace lanewise::collectives
