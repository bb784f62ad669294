// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of which each rank does its part by itself: it gets whole vectors from others and
// combines them in the balanced bracketing. No message waits for another.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* The own vector goes to the ranks `to`. The vectors of the first `combined` ranks, with the own
   one if it is among them, are combined into the receive buffer; none: there is no result here. */
model::Schedule combine_here(const CallShape& shape, const std::vector<int>& to, int combined);

}  // namespace lanewise::collectives
