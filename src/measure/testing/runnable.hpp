// SPDX-License-Identifier: BSD-3-Clause
//
// Runnable: which operations of the registry a test can execute here.

#pragma once

#include <mpi.h>

#include "measure/harness/operation.hpp"

namespace lanewise::testing {

inline bool threads_run_here() {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

inline bool runs_here(const measure::Entry& entry) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return !entry.lacks && (!entry.threads || threads_run_here()) && size >= entry.ranks_min;
}

}  // namespace lanewise::testing
