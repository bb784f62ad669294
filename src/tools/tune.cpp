// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-tune: measures the MPI's default and everything that may take its place, interleaved,
// under any launcher. It says what is faster; what follows from it is decided by `lanewise tune`.

#include <cstdio>

#include "base/json.hpp"
#include "tools/mpi_program.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "tune/arguments.hpp"
#include "tune/collectives_named.hpp"
#include "tune/mpi_algorithms.hpp"
#include "tune/preloaded.hpp"
#include "tune/tuning.hpp"

namespace lanewise::tools {
namespace {

int print_collectives() {
    using namespace collectives;
    for (const auto calling : {Calling::blocking, Calling::nonblocking}) {
        for (const auto collective : tune::measured_collectives()) {
            std::puts(name_of(Operation(collective, calling)).c_str());
        }
    }
    return 0;
}

int print_plan(const tune::TuneArguments& arguments) {
    const auto& sizes_bytes = arguments.session.sizes_bytes;
    Json names = Json::array();
    Json sizes_bytes_of = Json::object();
    for (const auto operation : arguments.operations) {
        names.push_back(name_of(operation));
        sizes_bytes_of[name_of(operation)] = tune::sizes_for(operation.collective, sizes_bytes);
    }
    const Json plan = {{"points", tune::count_tasks(arguments)},
                       {"operations", names},
                       {"sizes_bytes", sizes_bytes},
                       {"sizes_bytes_of", sizes_bytes_of}};
    std::puts(plan.dump().c_str());
    return 0;
}

}  // namespace

int tune_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-tune";
    const auto parsed = tune::parse_tune_arguments(argc, argv);
    if (!parsed) return say_failure_once(program, parsed.failure());
    if (const auto *leave = std::get_if<Leave>(&*parsed)) return print(*leave);
    const auto& arguments = std::get<tune::TuneArguments>(*parsed);
    if (arguments.list) return print_collectives();
    const auto path = tune::check_library_path();
    if (!path) return say_failure_once(program, path.failure());
    if (arguments.plan) return print_plan(arguments);
    const auto preloaded = tune::preload(argv, arguments.platform);
    if (!preloaded) return say_failure_once(program, preloaded.failure());
    tune::MpiAlgorithms::announce();
    return run_under_mpi(program, arguments.session.ranks_expected,
                         [&] { return tune::tune(arguments); });
}

}  // namespace lanewise::tools
