// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_program.hpp.

#include "tools/mpi_program.hpp"

#include <mpi.h>

#include <cstdio>
#include <string>

#include "base/launcher.hpp"
#include "measure/harness/harness.hpp"
#include "tools/program.hpp"

namespace lanewise::tools {
namespace {

/*
 * Refuses N singletons: processes that a launcher started together but whose MPI does not know of
 * each other, each believing to be rank 0 of 1. It happens when mpirun belongs to another MPI than
 * the program, and with srun without the right --mpi plugin (open-mpi/ompi#13523).
 */
Outcome check_rank_count(int ranks_expected) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int promised = ranks_expected;
    std::string source = "--ranks";
    const auto launched = launched_as();
    if (promised == 0 && launched) {
        promised = launched->ranks;
        source = launched->ranks_variable;
    }
    // A launcher's number is trusted only against a singleton: some launchers count their own
    // helpers.
    const bool wrong = ranks_expected > 0 ? size != promised : size == 1 && promised > 1;
    if (!wrong) return Done{};
    return Failure{LW_ERR_ARGUMENT, "MPI has " + std::to_string(size) +
                                        (size == 1 ? " rank" : " ranks") + " where " + source +
                                        " promises " + std::to_string(promised) +
                                        "; start it with the mpirun of " LANEWISE_MPI_FAMILY
                                        ", or srun --mpi=pmix, of the MPI it was built for"};
}

void initialize(Threads threads) {
    int provided = MPI_THREAD_SINGLE;
    switch (threads) {
        case Threads::one: MPI_Init(nullptr, nullptr); return;
        case Threads::serialized:
            MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
            return;
        case Threads::several:
            MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
            return;
    }
}

}  // namespace

int say_failure_once(const char *program, const Failure& failure) {
    return is_first_process() ? say_failure(program, failure) : exit_status(failure);
}

int run_under_mpi(const char *program, int ranks_expected, const std::function<Outcome()>& work,
                  Threads threads) {
    initialize(threads);
    int status = 0;
    try {
        const auto counted = check_rank_count(ranks_expected);
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        const auto outcome = counted ? work() : counted;
        // The outcome is the same on every rank; rank 0 says it.
        if (!outcome && rank == 0) status = say_failure_once(program, outcome.failure());
    } catch (const measure::MpiFailure& failure) {
        std::fprintf(stderr, "%s: MPI: %s\n", program, failure.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}

}  // namespace lanewise::tools
