// SPDX-License-Identifier: BSD-3-Clause
//
// Launcher: what mpirun, mpiexec, srun, flux and their like tell each process about itself, before
// and without MPI.

#pragma once

#include <optional>

namespace lanewise {

struct LaunchedAs {
    int rank = 0;
    int ranks = 0;                   /* 0: this launcher does not say */
    const char *ranks_variable = ""; /* where `ranks` comes from */
};

/* This process as its launcher numbered it; none where no launcher did. */
std::optional<LaunchedAs> launched_as();

/* Whether this process is the one that speaks for all: rank 0, or started by hand. */
bool is_first_process();

}  // namespace lanewise
