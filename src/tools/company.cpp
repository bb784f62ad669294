// SPDX-License-Identifier: BSD-3-Clause
//
// Refuses N singletons: processes that a launcher started together but whose
// MPI does not know of each other, each believing to be rank 0 of 1. It happens
// when mpirun belongs to another MPI than the program, and with srun without
// the right --mpi plugin (open-mpi/ompi#13523).

#include <mpi.h>

#include <cstdlib>
#include <string>

#include "tools/company.hpp"

namespace lanewise::tools {
namespace {

// What launchers tell each process about the number of processes, surest first.
constexpr const char *size_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_NRANKS",
                                          "FLUX_JOB_SIZE", "SLURM_STEP_NUM_TASKS"};

int number(const char *text) {
    return text ? std::atoi(text) : 0;
}

}  // namespace

Outcome check_company(int ranks_expected) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int promised = ranks_expected;
    std::string source = "--ranks";
    for (const char *variable : size_variables) {
        if (promised > 0) break;
        promised = number(std::getenv(variable));
        source = variable;
    }
    // A launcher's number is trusted only against a singleton: some launchers
    // count their own helpers.
    const bool wrong = ranks_expected > 0 ? size != promised : size == 1 && promised > 1;
    if (!wrong) return Done{};
    return Failure{LW_ERR_ARGUMENT, "MPI has " + std::to_string(size) +
                                        (size == 1 ? " rank" : " ranks") + " where " + source +
                                        " promises " + std::to_string(promised) +
                                        "; start it with the mpirun of " LANEWISE_MPI_FAMILY
                                        ", or srun --mpi=pmix, of the MPI it was built for"};
}

}  // namespace lanewise::tools
