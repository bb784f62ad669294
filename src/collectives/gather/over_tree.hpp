// SPDX-License-Identifier: BSD-3-Clause
//
// Gather over a binomial tree whose nodes are filled by a placement: a rank
// collects the blocks of its subtree behind its own and passes them on in one
// message.

#pragma once

#include "collectives/rank_order.hpp"
#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

model::Schedule gather_over_tree(const Shape& shape, const Placement& placement);

}  // namespace lanewise::collectives
