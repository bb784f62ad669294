// SPDX-License-Identifier: BSD-3-Clause
//
// See launcher.hpp.

#include "base/launcher.hpp"

#include <cstdlib>

namespace lanewise {
namespace {

struct Variables {
    const char *rank;
    const char *ranks; /* null: this launcher has none */
};

// The innermost launcher first: mpirun inside an allocation starts its daemons by srun or flux, and
// ranks inherit what those told the daemons.
constexpr Variables known[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI, PRRTE
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},    // MVAPICH
    {"PMI_RANK", "PMI_SIZE"},                          // Hydra, PMI 1 and 2 of Slurm
    {"PALS_RANKID", "PALS_NRANKS"},                    // HPE Cray PALS
    {"PMIX_RANK", nullptr},                            // any PMIx server
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

int number(const char *text) {
    return text ? std::atoi(text) : 0;
}

}  // namespace

std::optional<LaunchedAs> launched_as() {
    std::optional<LaunchedAs> found;
    for (const auto& variables : known) {
        const char *rank = std::getenv(variables.rank);
        const char *ranks = variables.ranks ? std::getenv(variables.ranks) : nullptr;
        if (!found && (rank || ranks)) found.emplace().rank = number(rank);
        if (!ranks || number(ranks) <= 0) continue;
        found->ranks = number(ranks);
        found->ranks_variable = variables.ranks;
        break;
    }
    return found;
}

bool is_first_process() {
    const auto launched = launched_as();
    return !launched || launched->rank == 0;
}

}  // namespace lanewise
