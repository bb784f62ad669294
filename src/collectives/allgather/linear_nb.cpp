// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking allgather: every rank sends its block to every other, all at
// once, its neighbour first so that no rank is everybody's first.
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
        steps.receive(peer, {Place::receive, shape.offset_of(peer)}, shape.count_of(peer));
    }
    for (int distance = 1; distance < n; ++distance) {
        steps.send((me + distance) % n, {Place::send, 0}, shape.count_of(me));
    }
    steps.copy({Place::send, 0}, {Place::receive, shape.offset_of(me)}, shape.count_of(me));
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allgather_linear_nb{
    .collective = Collective::allgather,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};
extern constexpr Algorithm allgatherv_linear_nb =
    vector_form(allgather_linear_nb, Collective::allgatherv, {});

}  // namespace lanewise::collectives
