// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-check: measures where an MPI breaks performance guidelines. It says
// what is faster; what counts as broken is decided by `lanewise check`.
// Leaves with 0 for success, 1 for a failure while measuring, 2 for bad usage.

#include <algorithm>
#include <cstdio>

#include "base/json.hpp"
#include "tune/guideline_check.hpp"
#include "tune/collectives_named.hpp"
#include "tools/program.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::tools;

constexpr const char *program = "lanewise-check";

int print_plan(const CheckArguments& arguments) {
    const int ranks = std::max(arguments.settings.ranks_expected, 2);
    const auto all = guidelines(arguments.collectives, arguments.settings.sizes_bytes, ranks);
    Json names = Json::array();
    for (const auto collective : arguments.collectives) names.push_back(name_of(collective));
    const Json plan = {{"points", all.size()},
                       {"operations", names},
                       {"sizes_bytes", arguments.settings.sizes_bytes}};
    std::puts(plan.dump().c_str());
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    CheckArguments arguments;
    SettingTexts texts;
    std::vector<std::string> names;
    bool plan = false;
    arguments.settings.words.assign(argv + 1, argv + argc);
    CLI::App app(
        "Measures performance guidelines. Started by an MPI launcher:\n"
        "  mpirun -n 4 lanewise-check bcast --sizes 1K,64K\n",
        program);
    app.add_option("collectives", names, "none: all")->option_text("COLLECTIVE...");
    app.add_flag("--plan", plan, "check the arguments, print the points");
    declare_settings(app, texts, arguments.settings);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        return complain(
            program, {LW_ERR_ARGUMENT, std::string(error.what()) + "; --help lists the options"});
    }
    const auto named = collectives_named(names);
    if (!named) return complain(program, named.failure());
    arguments.collectives = *named;
    const auto read = read_settings(texts, arguments.settings);
    if (!read) return complain(program, read.failure());
    if (plan) return print_plan(arguments);
    return run_under_mpi(program, arguments.settings.ranks_expected,
                         [&] { return check_guidelines(arguments); });
}
