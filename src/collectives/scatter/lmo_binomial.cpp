// SPDX-License-Identifier: BSD-3-Clause
//
// Heterogeneous binomial scatter: the binomial tree with the large subtrees at
// the ranks that take and pass on data fastest, as the LMO model tells them
// (placement.hpp).
// Cost: T(r) = C + Mk t + max(T(rest of r), L + C' + Mk (1/beta + t') + T(child)).

#include "collectives/algorithm.hpp"
#include "collectives/scatter/over_tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    scatter_over_tree(steps, shape, lmo_placement(shape, Direction::from_root),
                      {model::Place::send, 0}, model::no_step);
    return steps.finish();
}

}  // namespace

extern const Algorithm scatter_lmo_binomial{
    .collective = Collective::scatter,
    .name = "lmo_binomial",
    .source = "Dichev, Rychkov and Lastovetsky, EuroMPI 2010",
    .cost = "at most a log2(n) + b(n-1)M of the slowest link",
    .needs = {.platform = true},
    .build = build,
};

extern const Algorithm scatterv_lmo_binomial{
    .collective = Collective::scatterv,
    .name = "lmo_binomial",
    .source = "Dichev, Rychkov and Lastovetsky, EuroMPI 2010",
    .cost = "at most a log2(n) + b(n-1)M of the slowest link",
    .needs = {.all_counts = true, .platform = true},
    .build = build,
};

}  // namespace lanewise::collectives
