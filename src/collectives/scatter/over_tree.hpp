// SPDX-License-Identifier: BSD-3-Clause
//
// Scatter over a binomial tree whose nodes are filled by a placement: a rank
// receives the blocks of its subtree in one message, keeps its own and hands on
// the halves, the largest first.

#pragma once

#include "collectives/rank_order.hpp"
#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Scatters the blocks that begin at the root's `blocks`, which is ready after `ready`. */
void scatter_over_tree(model::Builder& steps, const Shape& shape, const Placement& placement,
                       model::Slice blocks, model::StepId ready);

}  // namespace lanewise::collectives
