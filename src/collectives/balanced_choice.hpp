// SPDX-License-Identifier: BSD-3-Clause
//
// Which algorithm in the balanced bracketing reduces, where nothing was measured.

#pragma once

#include <cstdint>

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

/* For a reduction; the size is as rules count it, 0 where it is unknown. Null: none is. */
const Algorithm *balanced_choice(Operation operation, int ranks, std::uint64_t message_bytes);

}  // namespace lanewise::collectives
