// SPDX-License-Identifier: BSD-3-Clause
//
// Linear gather: the root receives from every rank itself. What the algorithms
// of that kind share, gatherv included.

#pragma once

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Whether the root receives from one rank after the other or opens all receives at once. */
enum class Turns { one_by_one, at_once };

model::Schedule gather_linearly(const Shape& shape, Turns turns);

}  // namespace lanewise::collectives
