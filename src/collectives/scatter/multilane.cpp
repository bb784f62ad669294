// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane scatter: several pairs of ranks carry what goes to another site,
// segment by segment, while the root still sends and leaves already receive.
// Cost: L + D / min(b_root, P b) + 2 c / b; see lanes/carry.hpp.

#include "collectives/algorithm.hpp"
#include "collectives/lanes/carry.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return scatter_over_lanes(shape, pipelined);
}

}  // namespace

extern const Algorithm scatter_multilane{
    .collective = Collective::scatter,
    .name = "multilane",
    .source = "Chiba et al., 2008 (paper 001), stages overlapped in segments",
    .cost = "L+D/(P b(P))+2c/b_LAN",
    .needs = {.segmented = true, .lanes = true, .sites = true},
    .build = build,
};

extern const Algorithm scatterv_multilane{
    .collective = Collective::scatterv,
    .name = "multilane",
    .source = "Chiba et al., 2008 (paper 001), stages overlapped in segments",
    .cost = "L+D/(P b(P))+2c/b_LAN",
    .needs = {.all_counts = true, .segmented = true, .lanes = true, .sites = true},
    .build = build,
};

}  // namespace lanewise::collectives
