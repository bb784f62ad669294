// SPDX-License-Identifier: BSD-3-Clause
//
// Direct reduce: each rank combines one block of the vector, and the root collects them.
// Cost, with g the time to combine a byte: n a + 2 (n - 1)/n bM + (n - 1)/n gM.

#include "collectives/reduce/direct.hpp"

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

using model::Place;
using model::Slice;
using model::StepId;

DirectlyReduced reduce_directly(model::Builder& steps, const CallShape& shape,
                                const Bounds& bounds) {
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto number = static_cast<std::size_t>(n);
    const auto count = bounds.size(me);
    const auto block_of = [&](int rank) { return Slice{Place::send, bounds[rank]}; };
    std::vector<Slice> parts(number, block_of(me));
    std::vector<StepId> here(number, model::no_step);
    DirectlyReduced reduced;
    reduced.sent.assign(number, model::no_step);
    // Nearest first, so that no rank is the first or the last one of all others.
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        auto& part = parts[static_cast<std::size_t>(from)];
        part = steps.scratch(count);
        here[static_cast<std::size_t>(from)] = steps.receive(from, part, count);
    }
    for (int distance = 1; distance < n; ++distance) {
        const int to = (me + distance) % n;
        reduced.sent[static_cast<std::size_t>(to)] =
            steps.send(to, block_of(to), bounds.size(to));
    }
    reduced.at = parts.back();
    reduced.ready = here.back();
    if (me == n - 1) {
        reduced.at = steps.scratch(count);
        reduced.ready = steps.copy(block_of(me), reduced.at, count);
    }
    for (std::size_t rank = number - 1; rank-- > 0;) {
        reduced.ready = steps.reduce(parts[rank], reduced.at, count, {reduced.ready, here[rank]});
    }
    return reduced;
}

namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Bounds bounds(shape.count, shape.ranks);
    const auto reduced = reduce_directly(steps, shape, bounds);
    const auto count = bounds.size(shape.rank);
    if (!shape.is_root()) {
        steps.send(shape.root, reduced.at, count, {reduced.ready});
        return steps.finish();
    }
    steps.copy(reduced.at, {Place::receive, bounds[shape.rank]}, count, {reduced.ready});
    for (int rank = 0; rank < shape.ranks; ++rank) {
        if (rank == shape.rank) continue;
        // In place, the block of the root's own that lies there must have left.
        steps.receive(rank, {Place::receive, bounds[rank]}, bounds.size(rank),
                      {reduced.sent[static_cast<std::size_t>(rank)]});
    }
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm reduce_direct{
    .collective = Collective::reduce,
    .name = "direct",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, pairwise exchange",
    .cost = "na + (n-1)/n (2b+g)M",
    .needs = {},
    .build = build,
    .bracketing = Bracketing::from_the_right,
};

}  // namespace lanewise::collectives
