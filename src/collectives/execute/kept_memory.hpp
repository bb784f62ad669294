// SPDX-License-Identifier: BSD-3-Clause
//
// Kept memory: messages of a call that failed may still arrive, so the memory that they go to, or
// come from, is never given back.

#pragma once

#include <cstddef>
#include <vector>

namespace lanewise::collectives {

void keep_for_ever(std::vector<std::byte>&& memory);

}  // namespace lanewise::collectives
