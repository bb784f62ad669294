// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-measure: measures MPI operations under any launcher.

#include <algorithm>
#include <cstdio>

#include "measure/harness/operation.hpp"
#include "measure/round_trips.hpp"
#include "measure/session/arguments.hpp"
#include "measure/session/session.hpp"
#include "tools/mpi_program.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

using measure::session::Arguments;

constexpr const char *measure_program = "lanewise-measure";

int print_operations() {
    for (const auto& entry : measure::registry()) {
        if (entry.lacks) {
            std::printf("%s needs %s, which this MPI lacks\n", entry.name, entry.lacks);
        } else {
            std::puts(entry.name);
        }
    }
    for (const auto& round_trip : measure::round_trips()) std::puts(round_trip.name);
    for (const char *alone : {"clock", "polling", "post-work-wait"}) std::puts(alone);
    return 0;
}

bool needs_threads(const Arguments& arguments) {
    return std::any_of(arguments.operations.begin(), arguments.operations.end(),
                       [](const std::string& name) { return measure::find_entry(name)->threads; });
}

int print_plan(const Arguments& arguments) {
    const auto usable = measure::session::check_output(arguments);
    if (!usable) return say_failure_once(measure_program, usable.failure());
    const auto plan = measure::session::describe_plan(arguments);
    if (!plan) return say_failure_once(measure_program, plan.failure());
    std::puts(plan->c_str());
    return 0;
}

}  // namespace

int measure_main(int argc, char **argv) {
    const auto parsed = measure::session::parse_arguments(argc, argv);
    if (!parsed) return say_failure_once(measure_program, parsed.failure());
    if (const auto *leave = std::get_if<Leave>(&*parsed)) return print(*leave);
    const auto& arguments = std::get<Arguments>(*parsed);
    if (arguments.list) return print_operations();
    if (arguments.plan) return print_plan(arguments);
    return run_under_mpi(
        measure_program, arguments.ranks_expected,
        [&] { return measure::session::run_session(arguments); },
        needs_threads(arguments) ? Threads::several : Threads::one);
}

}  // namespace lanewise::tools
