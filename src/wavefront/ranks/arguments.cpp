// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "wavefront/ranks/arguments.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/quantities.hpp"

namespace lanewise::wavefront {

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

RankRun run_of_rank(const RankArguments& arguments, int rank) {
    RankRun run = arguments.run;
    const std::string number = std::to_string(rank);
    for (auto at = run.folder.find("%r"); at != std::string::npos;
         at = run.folder.find("%r", at + number.size()))
        run.folder.replace(at, 2, number);
    return run;
}

std::string summary(const RunReport& report, int ranks, bool json) {
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

}  // namespace lanewise::wavefront
