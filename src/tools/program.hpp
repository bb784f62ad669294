// SPDX-License-Identifier: BSD-3-Clause
//
// What all subcommands share: how a failure is printed, and the exit status. 0 for success, 1 for a
// failure while working, 2 for bad usage.

#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "options/options.hpp"

namespace lanewise::tools {

int exit_status(const Failure& failure);

/* Prints "PROGRAM: SENTENCE" on standard error and returns the exit status. */
int say_failure(const char *program, const Failure& failure);

/* Prints the text on standard output and returns the exit status, 0. */
int print(const Leave& leave);

/* Runs `work`, which needs no MPI, and returns its status. An exception is printed as a failure;
   `memory_remedy` ends the sentence where memory ran out. */
int run_and_report(const char *program, const char *memory_remedy,
                   const std::function<int()>& work);

/* The status of a program, which fails if standard output did not take all that it printed. */
int printed(const std::string& program, int status);

/* A program that is started with a standard stream closed would write into the first file that it
   opens. What takes its place refuses to be read or written, as a closed one does. */
void keep_standard_streams_apart();

}  // namespace lanewise::tools
