// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-check: measures where an MPI breaks performance guidelines. It says what is faster; what
// counts as broken is decided by `lanewise model guidelines`.

#include <algorithm>
#include <cstdio>

#include "base/json.hpp"
#include "options/options.hpp"
#include "tools/mpi_program.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "tune/collectives_named.hpp"
#include "tune/guideline_check.hpp"

namespace lanewise::tools {
namespace {

int print_plan(const tune::CheckArguments& arguments) {
    const int ranks = std::max(arguments.session.ranks_expected, 2);
    const auto all = tune::guidelines(arguments.collectives, arguments.session.sizes_bytes, ranks);
    Json names = Json::array();
    for (const auto collective : arguments.collectives) names.push_back(name_of(collective));
    const Json plan = {{"points", all.size()},
                       {"operations", names},
                       {"sizes_bytes", arguments.session.sizes_bytes}};
    std::puts(plan.dump().c_str());
    return 0;
}

}  // namespace

int check_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-check";
    tune::CheckArguments arguments;
    std::vector<std::string> names;
    bool plan = false;
    arguments.session.words.assign(argv + 1, argv + argc);
    Options options(program,
                    "Measures performance guidelines. Started by an MPI launcher:\n"
                    "  mpirun -n 4 lanewise-check bcast --sizes 1K,64K\n");
    options.texts("collectives", "COLLECTIVE", names, "Collectives to check (default: all)");
    options.flag("--plan", plan, "Check the arguments and print the points without measuring");
    declare(options, arguments.session);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure_once(program, parsed.failure());
    if (*parsed) return print(**parsed);
    const auto named = tune::collectives_named(names);
    if (!named) return say_failure_once(program, named.failure());
    arguments.collectives = *named;
    const auto admitted = admit(arguments.session);
    if (!admitted) return say_failure_once(program, admitted.failure());
    if (plan) return print_plan(arguments);
    return run_under_mpi(program, arguments.session.ranks_expected,
                         [&] { return tune::check_guidelines(arguments); });
}

}  // namespace lanewise::tools
