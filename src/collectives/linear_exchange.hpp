// SPDX-License-Identifier: BSD-3-Clause
//
// Linear exchange: every rank begins all its messages to all others at once, its neighbour first so
// that no rank is everybody's first.

#pragma once

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* What a rank sends: the same block to all, or to each the one that is meant for it. */
enum class Sent { one_block, block_for_each };

model::Schedule exchange_at_once(const CallShape& shape, Sent sent);

}  // namespace lanewise::collectives
