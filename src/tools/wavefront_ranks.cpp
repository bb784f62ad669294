// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-ranks: a sweep over the parts of a store, one on each rank.
//
//     lanewise-wavefront split demo part.0 part.1
//     mpirun -n 2 lanewise-wavefront-ranks part.%r --iterations 64 --memory 512MiB
//     lanewise-wavefront join whole part.0 part.1
//
// %r in the folder's name is the rank. Rank 0 prints one line, or one JSON object.

#include <mpi.h>

#include <cstdio>

#include "options/options.hpp"
#include "tools/mpi_program.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "wavefront/ranks/arguments.hpp"

namespace lanewise::tools {
namespace {

using wavefront::RankArguments;

constexpr const char *sweep_program = "lanewise-wavefront-ranks";

Outcome run_part(const RankArguments& arguments) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_SERIALIZED) {
        return Failure{LW_ERR_UNSUPPORTED,
                       "this MPI serves one thread only, and halos are exchanged by another; use "
                       "an MPI with MPI_THREAD_SERIALIZED"};
    }
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto report = run_rank(MPI_COMM_WORLD, run_of_rank(arguments, rank));
    if (!report) {
        const int status = say_failure_once(sweep_program, report.failure());
        // Others may wait for what this rank will never send.
        MPI_Abort(MPI_COMM_WORLD, status);
        return report.failure();
    }
    if (rank == 0) std::puts(summary(*report, ranks, arguments.json).c_str());
    return Done{};
}

}  // namespace

int wavefront_ranks_main(int argc, char **argv) {
    RankArguments arguments;
    Options options(sweep_program, "Sweeps over the parts of a store, one on each rank.");
    declare(options, arguments);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure_once(sweep_program, parsed.failure());
    if (*parsed) return print(**parsed);
    return run_under_mpi(
        sweep_program, 0, [&] { return run_part(arguments); }, Threads::serialized);
}

}  // namespace lanewise::tools
