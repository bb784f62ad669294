// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking alltoall: every rank begins all its messages at once, its
// neighbour first so that no rank is everybody's first.
// Cost: a + (n - 1) bM, and an overhead a message.

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    for (int distance = 1; distance < n; ++distance) {
        const int peer = (me - distance + n) % n;
        steps.receive(peer, {Place::receive, shape.offset_of(peer)}, shape.count);
    }
    for (int distance = 1; distance < n; ++distance) {
        const int peer = (me + distance) % n;
        steps.send(peer, {Place::send, shape.offset_of(peer)}, shape.count);
    }
    const auto own = shape.offset_of(me);
    steps.copy({Place::send, own}, {Place::receive, own}, shape.count);
    return steps.finish();
}

}  // namespace

extern const Algorithm alltoall_linear_nb{
    .collective = Collective::alltoall,
    .name = "linear_nb",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};

}  // namespace lanewise::collectives
