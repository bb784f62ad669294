// SPDX-License-Identifier: BSD-3-Clause
//
// ScratchBound: how much scratch memory an algorithm takes at most on any rank, so that the limit
// on it is known to hold without building the schedules of all ranks. A test builds them.

#pragma once

#include <cstdint>

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

/* Whether the buffers are one vector on each rank rather than a block for each rank. */
bool is_one_vector(Collective collective);

/* For `total_units` in the vector, or in all blocks together. */
std::int64_t scratch_units_max(const Algorithm& algorithm, int ranks, std::int64_t total_units);

}  // namespace lanewise::collectives
