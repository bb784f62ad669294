// SPDX-License-Identifier: BSD-3-Clause
//
// Direct allreduce: each rank combines one block of the vector and sends it to all others.
// Cost, with g the time to combine a byte: 2n a + 2 (n - 1)/n bM + (n - 1)/n gM.

#include "collectives/algorithm.hpp"
#include "collectives/reduce/direct.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const Bounds bounds(shape.count, n);
    const auto reduced = reduce_directly(steps, shape, bounds);
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        // In place, the own block that lies there must have left.
        steps.receive(from, {Place::receive, bounds[from]}, bounds.size(from),
                      {reduced.sent[static_cast<std::size_t>(from)]});
    }
    for (int distance = 1; distance < n; ++distance) {
        steps.send((me + distance) % n, reduced.at, bounds.size(me), {reduced.ready});
    }
    steps.copy(reduced.at, {Place::receive, bounds[me]}, bounds.size(me), {reduced.ready});
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allreduce_direct{
    .collective = Collective::allreduce,
    .name = "direct",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, pairwise exchange",
    .cost = "2na + (n-1)/n (2b+g)M",
    .needs = {},
    .build = build,
    .bracketing = Bracketing::from_the_right,
};

}  // namespace lanewise::collectives
