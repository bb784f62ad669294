// SPDX-License-Identifier: BSD-3-Clause
//
// Reduction round a ring: block r starts at rank r + 1 and each rank adds its own contribution,
// until it ends at rank r. Blocks travel in segments, so that one is added while the next is on its
// way.

#pragma once

#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

struct RingReduced {
    model::Slice at = {model::Place::send, 0}; /* this rank's block of the result */
    Pieces pieces;                    /* in which it came; other blocks travel in pieces as large */
    std::vector<model::StepId> ready; /* by piece */
    std::vector<model::StepId> sent;  /* the sends that read `send` */
};

RingReduced reduce_round_ring(model::Builder& steps, const CallShape& shape, const Bounds& bounds);

}  // namespace lanewise::collectives
