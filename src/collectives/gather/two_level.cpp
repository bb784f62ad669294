// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level gather: on each host up a binomial tree to its leader, then up one over the leaders to
// the root. A host sends all that its ranks and those behind it give in one message.
// Cost, on h hosts of k ranks each: log2(h) a + b (n - k) M between hosts and
// log2(k) a + b (k - 1) M inside.

#include "collectives/algorithm.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/hosts.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    const HostRow row(shape, hosts_of(shape, shape.root));
    return gather_over_tree(shape, row.order, host_row_tree(row));
}

}  // namespace

extern constexpr Algorithm gather_two_level{
    .collective = Collective::gather,
    .name = "two_level",
    .source = "Kielmann et al., MagPIe, PPoPP 1999",
    .cost = "(log2(h)+log2(k))a+b(n-1)M",
    .needs = {.hosts = true},
    .build = build,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm gatherv_two_level =
    vector_form(gather_two_level, Collective::gatherv, {.all_counts = true, .hosts = true});

}  // namespace lanewise::collectives
