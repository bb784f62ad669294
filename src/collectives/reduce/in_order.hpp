// SPDX-License-Identifier: BSD-3-Clause
//
// Reduction in rank order: whole vectors are combined so that each operand is to the left of those
// of higher ranks, as an operator that does not commute requires.

#pragma once

#include <cstdint>
#include <vector>

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* At the root where the result lies, and when. Elsewhere: when `send` is no longer read. */
struct Reduced {
    model::Slice at = {model::Place::send, 0};
    model::StepId ready = model::no_step;
};

/* Combines the own vector with those of `children`, one after the other; lower ranks are left
   operands. */
Reduced combine_children(model::Builder& steps, int rank, const std::vector<int>& children,
                         std::int64_t count);

/* The root receives the vectors one after the other. */
Reduced reduce_linearly(model::Builder& steps, const CallShape& shape, int root,
                        std::int64_t count);

/* A binomial tree in the balanced bracketing, with the root at its top. */
Reduced reduce_over_tree(model::Builder& steps, const CallShape& shape, int root,
                         std::int64_t count);

/* Copies what the root has to its receive buffer; answers when that may be read or written. */
model::StepId deliver(model::Builder& steps, const CallShape& shape, int root,
                      const Reduced& reduced, std::int64_t count);

}  // namespace lanewise::collectives
