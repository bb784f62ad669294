// SPDX-License-Identifier: BSD-3-Clause
//
// What all subcommands share: how a failure is printed, and the exit status. 0 for success, 1 for a
// failure while working, 2 for bad usage.

#pragma once

#include <functional>

#include "base/result.hpp"

namespace lanewise::tools {

int exit_status(const Failure& failure);

/* Prints "PROGRAM: SENTENCE" on standard error and returns the exit status. */
int say_failure(const char *program, const Failure& failure);

/* The status of `work`, which needs no MPI; what it throws is a failure, said in one sentence. */
int said_what_is_thrown(const char *program, const std::function<int()>& work);

/* A program that is started with a standard stream closed would write into the first file that it
   opens. What takes its place refuses to be read or written, as a closed one does. */
void keep_standard_streams_apart();

}  // namespace lanewise::tools
