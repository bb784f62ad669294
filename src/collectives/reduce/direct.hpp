// SPDX-License-Identifier: BSD-3-Clause
//
// Direct reduction of blocks: each rank gets its block of the vector from every other rank and
// combines the n parts by itself. As much moves as in the reductions that move least, and the
// operands stand in the order that the rank chooses: from the right, x0 op (x1 op (... op xn)), for
// every block alike, so that the bits of a result do not depend on where a vector is cut.

#pragma once

#include <vector>

#include "collectives/blocks.hpp"

namespace lanewise::collectives {

/* The own block of the result, and when it is there; and for each rank, when its block of `send`
   has left. */
struct DirectlyReduced {
    model::Slice at;
    model::StepId ready = model::no_step;
    std::vector<model::StepId> sent;
};

DirectlyReduced reduce_directly(model::Builder& steps, const CallShape& shape,
                                const Bounds& bounds);

}  // namespace lanewise::collectives
