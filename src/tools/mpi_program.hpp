// SPDX-License-Identifier: BSD-3-Clause
//
// What the subcommands that use MPI share: one voice and one exit status for all ranks, and the
// check that the MPI has as many ranks as the launcher started.

#pragma once

#include <functional>

#include "base/result.hpp"

namespace lanewise::tools {

/* As say_failure, but only the first process prints: every process reads the same command line. */
int say_failure_once(const char *program, const Failure& failure);

/* How threads of a rank will call the MPI. */
enum class Threads {
    one,
    serialized, /* several, one at a time */
    several,
};

/* Runs `work` between MPI_Init and MPI_Finalize and returns the exit status. `ranks_expected` is
   what the command line says; 0: what the launcher says counts. An MPI may provide fewer `threads`
   than that. */
int run_under_mpi(const char *program, int ranks_expected, const std::function<Outcome()>& work,
                  Threads threads = Threads::one);

}  // namespace lanewise::tools
