// SPDX-License-Identifier: BSD-3-Clause
//
// What each subcommand of lanewise-wavefront does and prints.

#pragma once

#include "tools/wavefront/arguments.hpp"

namespace lanewise::tools {

Outcome carry_out(const WavefrontArguments& arguments);

}  // namespace lanewise::tools
