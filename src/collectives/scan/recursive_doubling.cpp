// SPDX-License-Identifier: BSD-3-Clause
//
// Scans in log2(n) rounds, also called simultaneous binomial trees: in the round of distance d each
// rank gives what it has of the ranks up to itself to the rank d above, and takes that of the
// rank d below. Every rank sends in every round, so many messages are under way at once.
// Cost, with g the time to combine a byte: ceil(log2(n)) (a + bM + gM), exscan 2g.

#include "collectives/algorithm.hpp"
#include "collectives/scan/prefix.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

template <Prefixes prefixes>
model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    Prefix prefix(steps, prefixes, 0, shape.count);
    for (int distance = 1; distance < n; distance *= 2) {
        const bool takes = me >= distance;
        const bool gives = distance < n - me;
        if (takes) prefix.expect(me - distance, gives);
        if (gives) prefix.give(me + distance);
        if (takes) prefix.combine(distance < (n - me + 1) / 2);
    }
    prefix.settle();
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm scan_recursive_doubling{
    .collective = Collective::scan,
    .name = "recursive_doubling",
    .source = "Hillis and Steele, CACM 29(12), 1986",
    .cost = "ceil(log2(n))(a+bM+gM)",
    .needs = {},
    .build = build<Prefixes::inclusive>,
    .scratch_units_max = vector_times<2>,
};

extern constexpr Algorithm exscan_recursive_doubling =
    exclusive_form(scan_recursive_doubling, build<Prefixes::exclusive>, "ceil(log2(n))(a+bM+2gM)");

}  // namespace lanewise::collectives
