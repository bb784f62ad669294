// SPDX-License-Identifier: BSD-3-Clause
//
// Three-step gather: the paper's own form, its scatter backwards. Some ranks of
// another site collect whole blocks, these cross on all lanes, the root collects
// them; a rank begins a step when the one before has ended on it.
// Cost: T(P) of paper 001, section 4.2; see model/lane_cost.hpp.

#include "collectives/algorithm.hpp"
#include "collectives/lanes/carry.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return gather_over_lanes(shape, in_three_steps);
}

}  // namespace

extern const Algorithm gather_three_step{
    .collective = Collective::gather,
    .name = "three_step",
    .source = "Chiba et al., 2008 (paper 001), section 4.1",
    .cost = "L+X(P)M/b(P)+Y(P)M/b_LAN+a",
    .needs = {.lanes = true, .sites = true},
    .build = build,
};

}  // namespace lanewise::collectives
