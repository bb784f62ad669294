// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/combine_here.hpp"

#include <utility>

#include "collectives/bracketing.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

/* A vector and the step after which it is there. */
struct WholeVector {
    Slice at;
    StepId ready = model::no_step;
};

}  // namespace

model::Schedule combine_here(const CallShape& shape, const std::vector<int>& to, int combined) {
    const Slice own{Place::send, 0};
    const Slice result{Place::receive, 0};
    model::Builder steps;
    const int me = shape.rank;
    const auto count = shape.count;
    std::vector<WholeVector> parts;
    for (int rank = 0; rank < combined; ++rank) {
        const auto at = rank == me ? own : steps.scratch(count);
        parts.push_back({at, rank == me ? model::no_step : steps.receive(rank, at, count)});
    }
    // In place, results are written to what these read.
    std::vector<StepId> before_result;
    for (const int rank : to) before_result.push_back(steps.send(rank, own, count));
    if (parts.empty()) return steps.finish();
    // Only a right operand is overwritten, and rank 0 has none.
    if (me > 0 && me < combined) {
        const auto at = steps.scratch(count);
        parts[static_cast<std::size_t>(me)] = {at, steps.copy(own, at, count)};
    }
    const auto whole =
        fold_balanced(std::move(parts), [&](const WholeVector& left, const WholeVector& right) {
            return WholeVector{right.at,
                               steps.reduce(left.at, right.at, count, {left.ready, right.ready})};
        });
    before_result.push_back(whole.ready);
    steps.copy_after(before_result, whole.at, result, count);
    return steps.finish();
}

}  // namespace lanewise::collectives
