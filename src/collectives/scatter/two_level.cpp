// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level scatter: down a binomial tree over one leader of each host, then on each host down a
// binomial tree from its leader. A host gets all that its ranks and those behind it need in one
// message.
// Cost, on h hosts of k ranks each: log2(h) a + b (n - k) M between hosts and
// log2(k) a + b (k - 1) M inside.

#include "collectives/algorithm.hpp"
#include "collectives/hosts.hpp"
#include "collectives/scatter/scatter.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const HostRow row(shape, hosts_of(shape, shape.root));
    // What goes to another host does not hold up what stays on this one.
    scatter_over_tree(steps, shape, row.order, {model::Place::send, 0}, model::no_step,
                      host_row_tree(row), Posting::at_once);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm scatter_two_level{
    .collective = Collective::scatter,
    .name = "two_level",
    .source = "Kielmann et al., MagPIe, PPoPP 1999",
    .cost = "(log2(h)+log2(k))a+b(n-1)M",
    .needs = {.hosts = true},
    .build = build,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm scatterv_two_level =
    vector_form(scatter_two_level, Collective::scatterv, {.all_counts = true, .hosts = true});

}  // namespace lanewise::collectives
