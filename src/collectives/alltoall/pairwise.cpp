// SPDX-License-Identifier: BSD-3-Clause
//
// Pairwise alltoall: n - 1 rounds, in each of which a rank sends to the rank that
// far ahead and receives from the rank that far behind.
// Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto own = shape.offset_of(me);
    steps.copy({Place::send, own}, {Place::receive, own}, shape.count);
    auto received = model::no_step;
    auto sent = model::no_step;
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        const int to = (me + distance) % n;
        const auto incoming = steps.receive(from, {Place::receive, shape.offset_of(from)},
                                            shape.count, {received, sent});
        sent = steps.send(to, {Place::send, shape.offset_of(to)}, shape.count);
        received = incoming;
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm alltoall_pairwise{
    .collective = Collective::alltoall,
    .name = "pairwise",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
