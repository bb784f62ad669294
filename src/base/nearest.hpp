// SPDX-License-Identifier: BSD-3-Clause
//
// Nearest: the known name closest to a mistyped one, for "did you mean".

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lanewise {

/* The first of the closest names; empty where none is close. */
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace lanewise
