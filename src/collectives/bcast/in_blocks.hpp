// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast in blocks: the vector is cut into one block per rank and scattered over a binomial
// tree, after which a rank holds the blocks of its subtree; an allgather then spreads them. Ranks
// are relative to the root.

#pragma once

#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* The vector after its scatter. */
struct Scattered {
    Bounds bounds;
    model::StepId arrived = model::no_step; /* the blocks of this rank's subtree */
};

Scattered scatter_vector(model::Builder& steps, const CallShape& shape);

}  // namespace lanewise::collectives
