// SPDX-License-Identifier: BSD-3-Clause
//
// Pairwise alltoall(v, w): n - 1 rounds, in each of which a rank sends to the rank that
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
    steps.copy({Place::send, shape.send_offset_of(me)}, {Place::receive, shape.offset_of(me)},
               shape.count_of(me));
    auto received = model::no_step;
    auto sent = model::no_step;
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        const int to = (me + distance) % n;
        const auto incoming = steps.receive(from, {Place::receive, shape.offset_of(from)},
                                            shape.count_of(from), {received, sent});
        const auto outgoing =
            steps.send(to, {Place::send, shape.send_offset_of(to)}, shape.send_count_of(to));
        received = incoming;
        sent = outgoing;
    }
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm alltoall_pairwise{
    .collective = Collective::alltoall,
    .name = "pairwise",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};
extern constexpr Algorithm alltoallv_pairwise =
    vector_form(alltoall_pairwise, Collective::alltoallv, {});
extern constexpr Algorithm alltoallw_pairwise =
    vector_form(alltoall_pairwise, Collective::alltoallw, {});

}  // namespace lanewise::collectives
