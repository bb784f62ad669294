// SPDX-License-Identifier: BSD-3-Clause
//
// Linear scatter: the root deals with every rank itself. What the algorithms of
// that kind share, scatterv and the last leg of reduce_scatter included.

#pragma once

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Whether the root's messages go one after the other or are all begun at once. */
enum class Pace { one_by_one, at_once };

/* Scatters the blocks that begin at the root's `blocks`, which is ready after `ready`. */
void scatter_linearly(model::Builder& steps, const Shape& shape, model::Slice blocks,
                      model::StepId ready, Pace pace);

}  // namespace lanewise::collectives
