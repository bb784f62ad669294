// SPDX-License-Identifier: BSD-3-Clause
//
// What the main functions of the MPI programs share: one voice and one exit
// status for all ranks. 0 for success, 1 for a failure, 2 for bad usage.

#pragma once

#include <functional>

#include "base/result.hpp"

namespace lanewise::tools {

/* Before MPI is up every process reads the same command line; one of them speaks.
   Returns the exit status. */
int complain(const char *program, const Failure& failure);

/* How many threads of a rank will call the MPI. */
enum class Threads { one, several };

/* Runs `work` between MPI_Init and MPI_Finalize and returns the exit status. */
int run_under_mpi(const char *program, int ranks_expected, const std::function<Outcome()>& work,
                  Threads threads = Threads::one);

}  // namespace lanewise::tools
