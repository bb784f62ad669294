// SPDX-License-Identifier: BSD-3-Clause
//
// What each subcommand of lanewise-wavefront does and prints.

#pragma once

#include "wavefront/commands/arguments.hpp"

namespace lanewise::wavefront::commands {

Outcome carry_out(const WavefrontArguments& arguments);

}  // namespace lanewise::wavefront::commands
