// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-measure: measures MPI operations under any launcher.
// Leaves with 0 for success, 1 for a failure while measuring, 2 for bad usage.

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "measure/harness.hpp"
#include "tools/measure/arguments.hpp"
#include "tools/measure/session.hpp"

namespace {

using lanewise::Outcome;
using lanewise::tools::Arguments;

int exit_status(lw_status status) {
    switch (status) {
        case LW_OK: return 0;
        case LW_ERR_ARGUMENT:
        case LW_ERR_LIMIT:
        case LW_ERR_NOT_FOUND:
        case LW_ERR_UNSUPPORTED: return 2;
        default: return 1;
    }
}

// Before MPI is up every process reads the same command line; one of them speaks.
bool is_first_process() {
    for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        if (const char *rank = std::getenv(variable)) return std::atoi(rank) == 0;
    }
    return true;
}

int complain(const lanewise::Failure& failure) {
    if (!is_first_process()) return exit_status(failure.status);
    std::fprintf(stderr, "lanewise-measure: %s\n", failure.sentence.c_str());
    return exit_status(failure.status);
}

int print_operations() {
    for (size_t i = 0; lw_operation_name(i); ++i) std::puts(lw_operation_name(i));
    std::puts("pairs\ntriplets\nclock");
    return 0;
}

int print_plan(const Arguments& arguments) {
    const auto plan = lanewise::tools::describe_plan(arguments);
    if (!plan) return complain(plan.failure());
    std::puts(plan->c_str());
    return 0;
}

int run(const Arguments& arguments) {
    const auto company = lanewise::tools::check_company(arguments);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const Outcome outcome =
        company ? lanewise::tools::run_session(arguments) : Outcome(company.failure());
    // One voice and one status for all ranks: rank 0's.
    return outcome || rank != 0 ? 0 : complain(outcome.failure());
}

}  // namespace

int main(int argc, char **argv) {
    const auto parsed = lanewise::tools::parse_arguments(argc, argv);
    if (!parsed) return complain(parsed.failure());
    if (const auto *leave = std::get_if<lanewise::tools::Leave>(&*parsed)) {
        std::fputs(leave->text.c_str(), stdout);
        return 0;
    }
    const auto& arguments = std::get<Arguments>(*parsed);
    if (arguments.list) return print_operations();
    if (arguments.plan) return print_plan(arguments);

    MPI_Init(&argc, &argv);
    int status = 0;
    try {
        status = run(arguments);
    } catch (const lanewise::measure::MpiFailure& failure) {
        std::fprintf(stderr, "lanewise-measure: MPI: %s\n", failure.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
}
