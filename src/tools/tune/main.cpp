// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-tune: measures the MPI's default and everything that may take its
// place, interleaved, under any launcher. It says what is faster; what follows
// from it is decided by `lanewise tune`.
// Leaves with 0 for success, 1 for a failure while measuring, 2 for bad usage.

#include <cstdio>

#include "base/json.hpp"
#include "tune/mpi_algorithms.hpp"
#include "tools/program.hpp"
#include "tune/arguments.hpp"
#include "tune/tuning.hpp"

namespace {

using namespace lanewise::tools;

constexpr const char *program = "lanewise-tune";

int print_collectives() {
    using namespace lanewise::collectives;
    for (const auto calling : {Calling::blocking, Calling::nonblocking}) {
        for (int i = 0; i < collective_count; ++i) {
            std::puts(name_of(Operation(static_cast<Collective>(i), calling)).c_str());
        }
    }
    return 0;
}

int print_plan(const TuneArguments& arguments) {
    lanewise::Json names = lanewise::Json::array();
    for (const auto operation : arguments.operations) names.push_back(name_of(operation));
    const lanewise::Json plan = {{"points", count_tasks(arguments)},
                                 {"operations", names},
                                 {"sizes_bytes", arguments.settings.sizes_bytes}};
    std::puts(plan.dump().c_str());
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    const auto parsed = parse_tune_arguments(argc, argv);
    if (!parsed) return complain(program, parsed.failure());
    if (const auto *text = std::get_if<std::string>(&*parsed)) {
        std::fputs(text->c_str(), stdout);
        return 0;
    }
    const auto& arguments = std::get<TuneArguments>(*parsed);
    if (arguments.list) return print_collectives();
    if (arguments.plan) return print_plan(arguments);
    OwnAlgorithms::announce();
    return run_under_mpi(program, arguments.settings.ranks_expected,
                         [&] { return tune(arguments); });
}
