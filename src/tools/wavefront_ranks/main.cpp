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
#include <CLI/CLI.hpp>

#include <cstdio>

#include "base/json.hpp"
#include "base/sizes.hpp"
#include "tools/program.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::wavefront;

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
        const int status = tools::complain(program, report.failure());
        // Others may wait for what this rank will never send.
        MPI_Abort(MPI_COMM_WORLD, status);
        return status;
    }
    if (rank == 0) show(*report, ranks, json);
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    RankRun asked;
    asked.kernel = "livermore23";
    std::string memory = "1GiB";
    bool json = false;
    CLI::App app("Sweeps over the parts of a store, one on each rank.", program);
    app.add_option("part", asked.folder, "folder of a part; %r is the rank")->required();
    app.add_option("--iterations", asked.options.iterations, "how many (1)");
    app.add_option("--tolerance", asked.options.tolerance,
                   "stop when no cell changes by more (0: never)");
    app.add_option("--kernel", asked.kernel, "a name from lanewise-wavefront kernels");
    app.add_option("--parameter", asked.parameters, "of the kernel, such as SOR's omega");
    app.add_option("--memory", memory, "budget of each rank (1GiB)");
    app.add_option("--threads", asked.options.threads, "compute threads of each rank");
    app.add_option("--waves", asked.options.waves, "iterations per pass (chosen)");
    app.add_flag("--resume", asked.resuming, "go on with the run that was interrupted");
    app.add_flag("--json", json, "one JSON object");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help("", CLI::AppFormatMode::Normal).c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        return tools::complain(program, {LW_ERR_ARGUMENT, error.what()});
    }
    const auto budget = parse_size(memory);
    if (!budget) return tools::complain(program, budget.failure());
    asked.options.memory_bytes = *budget;
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    const int status = carry_out(asked, json);
    MPI_Finalize();
    return status;
}
