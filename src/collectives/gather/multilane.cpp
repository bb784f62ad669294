// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane gather: several pairs of ranks carry what comes from another site,
// segment by segment, while leaves still send and the root already receives.
// Cost: L + D / min(b_root, P b) + 2 c / b; see lanes/carry.hpp.

#include "collectives/algorithm.hpp"
#include "collectives/lanes/carry.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return gather_over_lanes(shape, pipelined);
}

}  // namespace

extern const Algorithm gather_multilane{
    .collective = Collective::gather,
    .name = "multilane",
    .source = "Chiba et al., 2008 (paper 001), stages overlapped in segments",
    .cost = "L+D/(P b(P))+2c/b_LAN",
    .needs = {.segmented = true, .lanes = true, .sites = true},
    .build = build,
};

extern const Algorithm gatherv_multilane{
    .collective = Collective::gatherv,
    .name = "multilane",
    .source = "Chiba et al., 2008 (paper 001), stages overlapped in segments",
    .cost = "L+D/(P b(P))+2c/b_LAN",
    .needs = {.all_counts = true, .segmented = true, .lanes = true, .sites = true},
    .build = build,
};

}  // namespace lanewise::collectives
