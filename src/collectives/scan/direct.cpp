// SPDX-License-Identifier: BSD-3-Clause
//
// Direct scans: each rank gets the vectors of all ranks before it and combines them by itself, in
// the balanced bracketing, as the direct reductions do. No message waits for another.
// Cost, with g the time to combine a byte: a + (n - 1)(bM + gM).

#include <utility>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/bracketing.hpp"
#include "collectives/scan/prefix.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

constexpr Slice own{Place::send, 0};
constexpr Slice result{Place::receive, 0};

/* A vector and the step after which it is there. */
struct Part {
    Slice at;
    StepId ready = model::no_step;
};

template <Prefixes prefixes>
model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int me = shape.rank;
    const auto count = shape.count;
    std::vector<Part> parts;
    for (int rank = 0; rank < me; ++rank) {
        const auto at = steps.scratch(count);
        parts.push_back({at, steps.receive(rank, at, count)});
    }
    // In place, results are written to what these read.
    std::vector<StepId> before_result;
    for (int rank = me + 1; rank < shape.ranks; ++rank) {
        before_result.push_back(steps.send(rank, own, count));
    }
    if constexpr (prefixes == Prefixes::inclusive) {
        const auto at = me > 0 ? steps.scratch(count) : own;
        parts.push_back({at, me > 0 ? steps.copy(own, at, count) : model::no_step});
    }
    if (parts.empty()) return steps.finish();
    const auto whole = fold_balanced(std::move(parts), [&](const Part& left, const Part& right) {
        return Part{right.at,
                    steps.reduce(left.at, right.at, count, {left.ready, right.ready})};
    });
    before_result.push_back(whole.ready);
    steps.copy_after(before_result, whole.at, result, count);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm scan_direct{
    .collective = Collective::scan,
    .name = "direct",
    .source = "MPI Forum, MPI 1.1, 1995, the definition of MPI_SCAN",
    .cost = "a+(n-1)(b+g)M",
    .needs = {},
    .build = build<Prefixes::inclusive>,
    .posts_at_once = true,
    .bracketing = Bracketing::balanced,
};

extern constexpr Algorithm exscan_direct =
    exclusive_form(scan_direct, build<Prefixes::exclusive>);

}  // namespace lanewise::collectives
