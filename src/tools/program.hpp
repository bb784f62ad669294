// SPDX-License-Identifier: BSD-3-Clause
//
// What all subcommands share: how a failure is printed, and the exit status. 0 for success, 1 for a
// failure while working, 2 for bad usage.

#pragma once

#include "base/result.hpp"

namespace lanewise::tools {

int exit_status(const Failure& failure);

/* Prints "PROGRAM: SENTENCE" on standard error and returns the exit status. */
int say_failure(const char *program, const Failure& failure);

/* A program that is started with a standard stream closed would write into the first file that it
   opens. What takes its place refuses to be read or written, as a closed one does. */
void keep_standard_streams_apart();

}  // namespace lanewise::tools
