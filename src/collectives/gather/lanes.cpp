// SPDX-License-Identifier: BSD-3-Clause
//
// Gather between sites over lanes; see lanes/transfer.hpp.
//
// multilane: several pairs of ranks transfer what comes from another site, segment by segment,
//   while leaves still send and the root already receives.
//   Cost: L + D / min(b_root, P b) + 2 c / b.
// three_step: the form of Chiba, Endo and Matsuoka (2008), their scatter in reverse. Some ranks of
//   another site collect whole blocks, these cross on all lanes, the root collects them; a rank
//   begins a step when the one before has ended on it. Cost: T(P) of section 4.2, see
//   model/lanes/lane_cost.hpp.
// single_lane: all that comes from another site is collected there and crosses between two ranks,
//   as MagPIe does where the link between sites is the narrowest part (Kielmann et al. 1999).
//   Cost: L + n1 M / b + (n1 - 1)(l + M / b_LAN).

#include "collectives/algorithm.hpp"
#include "collectives/lanes/transfer.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build_pipelined(const CallShape& shape) {
    return gather_over_lanes(shape, pipelined);
}

model::Schedule build_in_three_steps(const CallShape& shape) {
    return gather_over_lanes(shape, in_three_steps);
}

model::Schedule build_over_one_lane(const CallShape& shape) {
    auto single = shape;
    single.lanes = 1;
    return gather_over_lanes(single, in_three_steps);
}

}  // namespace

extern constexpr Algorithm gather_multilane{
    .collective = Collective::gather,
    .name = "multilane",
    .source = "Chiba, Endo and Matsuoka, 2008, stages overlapped in segments",
    .cost = "L+D/(P b(P))+2c/b_LAN",
    .needs = {.segmented = true, .lanes = true, .sites = true},
    .build = build_pipelined,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm gatherv_multilane =
    vector_form(gather_multilane, Collective::gatherv,
                {.all_counts = true, .segmented = true, .lanes = true, .sites = true});

extern constexpr Algorithm gather_three_step{
    .collective = Collective::gather,
    .name = "three_step",
    .source = "Chiba, Endo and Matsuoka, 2008, section 4.1",
    .cost = "L+X(P)M/b(P)+Y(P)M/b_LAN+a",
    .needs = {.lanes = true, .sites = true},
    .build = build_in_three_steps,
    .scratch_units_max = all_blocks_times<1>,
};

extern constexpr Algorithm gather_single_lane{
    .collective = Collective::gather,
    .name = "single_lane",
    .source = "Kielmann et al., PPoPP 1999 (MagPIe)",
    .cost = "L+n1 M/b+(n1-1)(l+M/b_LAN)",
    .needs = {.sites = true},
    .build = build_over_one_lane,
    .scratch_units_max = all_blocks_times<1>,
};

}  // namespace lanewise::collectives
