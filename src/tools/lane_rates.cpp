// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-lane-rates: measures what lanes between sites carry. Prints a platform.json; with -o
// FILE it also writes it, or adds the curves to the one that is there.

#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "base/json.hpp"
#include "options/options.hpp"
#include "tools/mpi_program.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "tune/lane_rates.hpp"

namespace lanewise::tools {
namespace {

/* The platform with its curves; where `path` has one of the same hosts, added to that. */
Result<model::Platform> joined(const model::Platform& measured, const std::string& path) {
    if (path.empty() || !std::ifstream(path)) return measured;
    const auto kept = model::read_platform(path);
    if (!kept) return kept.failure();
    return tune::with_lanes_of(*kept, measured, path);
}

Outcome measure_and_print(const std::string& path) {
    const measure::Harness harness(MPI_COMM_WORLD);
    const auto measured = tune::measure_lanes(harness);
    if (!measured) return measured.failure();
    if (harness.rank() != 0) return Done{};
    const auto whole = joined(*measured, path);
    if (!whole) return whole.failure();
    std::puts(to_json(*whole).dump().c_str());
    return path.empty() ? Outcome(Done{}) : write_platform(*whole, path);
}

}  // namespace

int lane_rates_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-lane-rates";
    std::string path;
    Options options(program,
                    "Measures what lanes between sites carry. Started by an MPI launcher.");
    options.text("-o,--output", "FILE", path, "Platform file to write, or to add the curves to");
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure_once(program, parsed.failure());
    if (*parsed) return print(**parsed);
    return run_under_mpi(program, 0, [&] { return measure_and_print(path); });
}

}  // namespace lanewise::tools
