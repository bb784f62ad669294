// SPDX-License-Identifier: BSD-3-Clause
//
// How the library speaks: one line on standard error, or a notice to the program.

#pragma once

#include <string>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {

inline constexpr const char *device_name = "lanewise0";

void complain(const std::string& sentence);

// Turns an event of the engine into a notice on a channel or on the context.
void tell(Context& context, const Event& event);

}  // namespace lanewise::verbs::abi
