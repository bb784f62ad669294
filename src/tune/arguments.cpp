// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "tune/arguments.hpp"

#include <lanewise/status.h>

#include <algorithm>

#include "tune/collectives_named.hpp"

namespace lanewise::tools {
namespace {

Failure usage(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

}  // namespace

Result<std::variant<TuneArguments, std::string>> parse_tune_arguments(int argc, char **argv) {
    TuneArguments arguments;
    SettingTexts texts;
    std::vector<std::string> names;
    arguments.settings.words.assign(argv + 1, argv + argc);
    CLI::App app(
        "Finds where an algorithm is faster than the MPI's default. Started by an MPI launcher:\n"
        "  mpirun -n 4 lanewise-tune scatter --sizes 8,64K -o evidence.jsonl\n",
        "lanewise-tune");
    app.set_version_flag("--version", std::string("lanewise-tune ") + lw_version());
    app.add_option("collectives", names, "names from --list; none: all that are blocking")
        ->option_text("COLLECTIVE...");
    app.add_option("--platform", arguments.platform,
                   "platform.json; what it predicts to be hopeless is measured briefly");
    app.add_flag("--plan", arguments.plan, "check the arguments, print the points");
    app.add_flag("--list", arguments.list, "print the collectives");
    declare_settings(app, texts, arguments.settings);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return {app.help()};
    } catch (const CLI::CallForVersion& version) {
        return {std::string(version.what()) + "\n"};
    } catch (const CLI::ParseError& error) {
        return usage(std::string(error.what()) + "; --help lists the options");
    }
    const auto named = operations_named(names);
    if (!named) return named.failure();
    arguments.operations = *named;
    const auto read = read_settings(texts, arguments.settings);
    if (!read) return read.failure();
    for (const auto operation : arguments.operations) {
        if (!sizes_for(operation.collective, arguments.settings.sizes_bytes).empty()) continue;
        return usage(name_of(operation) + " adds floats; none of the sizes is a multiple of 4");
    }
    return {std::move(arguments)};
}

}  // namespace lanewise::tools
