// SPDX-License-Identifier: BSD-3-Clause
//
// Single-lane scatter: all that goes to another site crosses between two ranks
// and is handed on there, as MagPIe does where the link between sites is the
// narrowest part (Kielmann et al., PPoPP 1999; paper 001, section 3.2).
// Cost: L + n1 M / b + (n1 - 1)(l + M / b_LAN).

#include "collectives/algorithm.hpp"
#include "collectives/lanes/carry.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    auto single = shape;
    single.lanes = 1;
    return scatter_over_lanes(single, in_three_steps);
}

}  // namespace

extern const Algorithm scatter_single_lane{
    .collective = Collective::scatter,
    .name = "single_lane",
    .source = "Kielmann et al., PPoPP 1999 (MagPIe)",
    .cost = "L+n1 M/b+(n1-1)(l+M/b_LAN)",
    .needs = {.sites = true},
    .build = build,
};

}  // namespace lanewise::collectives
