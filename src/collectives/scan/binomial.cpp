// SPDX-License-Identifier: BSD-3-Clause
//
// Scans up and down one binomial tree: first each rank takes what stands before it in its subtree,
// from small subtrees to large ones, then results come down from large ones to small ones. There
// are fewer than 2n messages in all, against n log2(n) of recursive doubling.
// Cost, with g the time to combine a byte: at most 2 log2(n) (a + bM + gM), exscan 2g.

#include "collectives/algorithm.hpp"
#include "collectives/scan/prefix.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

// Rank r is the last of a subtree whose width is the lowest set bit of r + 1.
template <Prefixes prefixes>
model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int me = shape.rank;
    const int above = shape.ranks - me; /* ranks from this one on */
    const int width = (me + 1) & -(me + 1);
    Prefix prefix(steps, prefixes, 0, shape.count);
    for (int distance = 1; distance < width; distance *= 2) {
        prefix.expect(me - distance, above > 1);
        prefix.combine(above > 1);
    }
    if (width < above) prefix.give(me + width);
    if (me >= width) {
        const bool gives = width > 1 && above > 1;
        prefix.expect(me - width, gives);
        prefix.combine(gives);
    }
    for (int distance = width / 2; distance > 0; distance /= 2) {
        if (distance < above) prefix.give(me + distance);
    }
    prefix.settle();
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm scan_binomial{
    .collective = Collective::scan,
    .name = "binomial",
    .source = "Brent and Kung, IEEE Transactions on Computers C-31(3), 1982",
    .cost = "at most 2log2(n)(a+bM+gM)",
    .needs = {},
    .build = build<Prefixes::inclusive>,
    .scratch_units_max = vector_times<2>,
};

extern constexpr Algorithm exscan_binomial =
    exclusive_form(scan_binomial, build<Prefixes::exclusive>, "at most 2log2(n)(a+bM+2gM)");

}  // namespace lanewise::collectives
