// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-ranks: a sweep over the parts of a store, one on each rank.
//
//     lanewise-wavefront split demo part.0 part.1
//     mpirun -n 2 lanewise-wavefront-ranks part.%r --iterations 64 --memory 512MiB
//     lanewise-wavefront join whole part.0 part.1
//
// %r in the folder's name is the rank. Rank 0 prints one line, or one JSON object.

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <string>

#include "base/json.hpp"
#include "base/quantities.hpp"
#include "options/options.hpp"
#include "tools/mpi_program.hpp"
#include "tools/subcommands.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace lanewise::tools {
namespace {

using wavefront::RankRun;

constexpr const char *sweep_program = "lanewise-wavefront-ranks";

struct RankArguments {
    RankRun run; /* its folder may have %r in place of the rank */
    bool json = false;
};

void declare(Options& options, RankArguments& arguments) {
    RankRun& run = arguments.run;
    options.text("part", "PART", run.folder, "Folder of a part; %r is replaced by the rank")
        .required();
    options.number("--iterations", "N", run.options.iterations, "Number of iterations");
    options
        .number("--tolerance", "X", run.options.tolerance,
                "Stop when no cell changes by more than this; without it, never")
        .without_default();
    options.text(
        "--kernel", "NAME", run.kernel,
        "Kernel, by the name that lanewise wavefront kernels prints (default: the one that the "
        "store was made for, else livermore23)");
    options.numbers("--parameter", "X", run.parameters,
                    "Parameter of the kernel, such as omega of SOR");
    options
        .text(
            "--borders", "KIND", run.borders,
            "What the border cells of the whole store are, as lanewise wavefront run has it; rows "
            "are not periodic (default: fixed)")
        .without_default();
    options.size("--memory", "SIZE", run.options.memory_bytes, "Memory budget of each rank");
    options.number("--threads", "N", run.options.threads,
                   "Compute threads of each rank; 0 means all processors");
    options.number("--waves", "K", run.options.waves,
                   "Iterations per pass; 0 lets Lanewise choose");
    options.flag("--resume", run.resuming, "Continue the run that was interrupted");
    options.flag("--json", arguments.json, "Print one JSON object");
}

/* %r in the folder's name is the number of the rank. */
RankRun run_of_rank(const RankArguments& arguments, int rank) {
    RankRun run = arguments.run;
    const auto at = run.folder.find("%r");
    if (at != std::string::npos) run.folder.replace(at, 2, std::to_string(rank));
    return run;
}

/* A sentence, or a JSON object. */
std::string summary(const wavefront::RunReport& report, int ranks, bool json) {
    if (!json) {
        return fmt::format("{} on {} in {:.2f} s, {}{}", counted(report.iterations, "iteration"),
                           counted(static_cast<std::uint64_t>(ranks), "rank"), report.elapsed_s,
                           counted(report.passes, "pass"), report.converged ? ", converged" : "");
    }
    return Json{{"event", "end"},
                {"ranks", ranks},
                {"iterations", report.iterations},
                {"converged", report.converged},
                {"last_change", report.last_change},
                {"waves", report.waves},
                {"passes", report.passes},
                {"read_bytes", report.read_bytes},
                {"written_bytes", report.written_bytes},
                {"elapsed_s", report.elapsed_s}}
        .dump();
}

int run_part(const RankArguments& arguments) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto report = run_rank(MPI_COMM_WORLD, run_of_rank(arguments, rank));
    if (!report) {
        const int status = complain(sweep_program, report.failure());
        // Others may wait for what this rank will never send.
        MPI_Abort(MPI_COMM_WORLD, status);
        return status;
    }
    if (rank == 0) std::puts(summary(*report, ranks, arguments.json).c_str());
    return 0;
}

}  // namespace

int wavefront_ranks_main(int argc, char **argv) {
    RankArguments arguments;
    Options options(sweep_program, "Sweeps over the parts of a store, one on each rank.");
    declare(options, arguments);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return complain(sweep_program, parsed.failure());
    if (*parsed) return std::fputs((*parsed)->c_str(), stdout), 0;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    const bool threads = provided >= MPI_THREAD_SERIALIZED;
    const int status =
        threads ? run_part(arguments)
                : complain(sweep_program, {LW_ERR_UNSUPPORTED,
                                           "this MPI serves one thread only, and halos are "
                                           "exchanged by another; use an MPI with "
                                           "MPI_THREAD_SERIALIZED"});
    MPI_Finalize();
    return status;
}

}  // namespace lanewise::tools
