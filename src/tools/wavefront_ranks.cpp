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

#include "base/json.hpp"
#include "options/options.hpp"
#include "tools/mpi_program.hpp"
#include "tools/subcommands.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace lanewise::tools {
namespace {

using namespace wavefront;

constexpr const char *program = "lanewise-wavefront-ranks";

std::string folder_of(std::string pattern, int rank) {
    const auto at = pattern.find("%r");
    if (at != std::string::npos) pattern.replace(at, 2, std::to_string(rank));
    return pattern;
}

void show(const RunReport& report, int ranks, bool json) {
    if (json) {
        std::puts(Json{{"event", "end"},
                       {"ranks", ranks},
                       {"iterations", report.iterations},
                       {"converged", report.converged},
                       {"last_change", report.last_change},
                       {"waves", report.waves},
                       {"passes", report.passes},
                       {"read_bytes", report.read_bytes},
                       {"written_bytes", report.written_bytes},
                       {"elapsed_s", report.elapsed_s}}
                      .dump()
                      .c_str());
        return;
    }
    fmt::print("{} iterations on {} ranks in {:.2f} s, {} passes{}\n", report.iterations, ranks,
               report.elapsed_s, report.passes, report.converged ? ", converged" : "");
}

int carry_out(RankRun asked, bool json) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    asked.folder = folder_of(asked.folder, rank);
    const auto report = run_rank(MPI_COMM_WORLD, asked);
    if (!report) {
        const int status = complain(program, report.failure());
        // Others may wait for what this rank will never send.
        MPI_Abort(MPI_COMM_WORLD, status);
        return status;
    }
    if (rank == 0) show(*report, ranks, json);
    return 0;
}

void declare(Options& options, RankRun& asked) {
    options.text("part", "PART", asked.folder, "Folder of a part; %r is replaced by the rank")
        .required();
    options.number("--iterations", "N", asked.options.iterations, "Number of iterations");
    options.number("--tolerance", "X", asked.options.tolerance,
                   "Stop when no cell changes by more than this; 0 means never");
    options.text("--kernel", "NAME", asked.kernel,
                 "Kernel, by the name that lanewise wavefront kernels prints");
    options.numbers("--parameter", "X", asked.parameters,
                    "Parameter of the kernel, such as omega of SOR");
    options.size("--memory", "SIZE", asked.options.memory_bytes, "Memory budget of each rank");
    options.number("--threads", "N", asked.options.threads,
                   "Compute threads of each rank; 0 means all processors");
    options.number("--waves", "K", asked.options.waves,
                   "Iterations per pass; 0 lets Lanewise choose");
    options.flag("--resume", asked.resuming, "Continue the run that was interrupted");
}

}  // namespace

int wavefront_ranks_main(int argc, char **argv) {
    RankRun asked;
    asked.kernel = "livermore23";
    bool json = false;
    Options options(program, "Sweeps over the parts of a store, one on each rank.");
    declare(options, asked);
    options.flag("--json", json, "Print one JSON object");
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return complain(program, parsed.failure());
    if (*parsed) return std::fputs((*parsed)->c_str(), stdout), 0;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    const int status = carry_out(asked, json);
    MPI_Finalize();
    return status;
}

}  // namespace lanewise::tools
