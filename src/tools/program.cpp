// SPDX-License-Identifier: BSD-3-Clause
//
// See program.hpp.

#include "tools/program.hpp"

#include <mpi.h>

#include <cstdio>

#include "base/host.hpp"
#include "measure/harness.hpp"
#include "tools/company.hpp"

namespace lanewise::tools {
namespace {

int exit_status(lw_status status) {
    switch (status) {
        case LW_OK:
            return 0;
        case LW_ERR_ARGUMENT:
        case LW_ERR_LIMIT:
        case LW_ERR_NOT_FOUND:
        case LW_ERR_UNSUPPORTED:
            return 2;
        default:
            return 1;
    }
}

}  // namespace

int complain(const char *program, const Failure& failure) {
    if (!is_first_process()) return exit_status(failure.status);
    std::fprintf(stderr, "%s: %s\n", program, failure.sentence.c_str());
    return exit_status(failure.status);
}

int run_under_mpi(const char *program, int ranks_expected, const std::function<Outcome()>& work,
                  Threads threads) {
    if (threads == Threads::several) {
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    } else {
        MPI_Init(nullptr, nullptr);
    }
    int status = 0;
    try {
        const auto company = check_company(ranks_expected);
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        const auto outcome = company ? work() : company;
        // The outcome is the same on every rank; rank 0 says it.
        if (!outcome && rank == 0) status = complain(program, outcome.failure());
    } catch (const measure::MpiFailure& failure) {
        std::fprintf(stderr, "%s: MPI: %s\n", program, failure.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}

}  // namespace lanewise::tools
