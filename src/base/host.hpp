// SPDX-License-Identifier: BSD-3-Clause
//
// Host: what a result must say about the machine it was measured on.

#pragma once

#include <string>

namespace lanewise {

struct Host {
    std::string name;
    std::string cpus; /* the processors this rank may run on, as "0-3,8" */
    int cores = 0;    /* processors online */
    std::string kernel;
    std::string governor;    /* of processor 0, or "unknown" */
    std::string clocksource; /* of the kernel, or "unknown" */
};

Host this_host();

/* Whether this is the first process of a parallel job, or of none: what its launcher set in the
   environment, since MPI_Init may not have been called. */
bool is_first_process();

/* Memory that can be had without swapping, in bytes; infinite where the kernel does not say. */
double available_memory_bytes();

}  // namespace lanewise
