// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-schedule: the algorithms there are, and the schedule of every rank
// that one of them makes of a call. Blocks are all as long as the message.
// Leaves with 0 for success, 1 for a failure while working, 2 for bad usage.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "collectives/report/schedule.hpp"
#include "collectives/report/schedule_json.hpp"

namespace {

using namespace lanewise;

void declare(CLI::App& app, tools::ScheduleArguments& arguments) {
    app.add_flag("--list", arguments.list, "all algorithms, with what they ask of a call");
    app.add_option("--collective", arguments.collective, "scatter, bcast, allreduce, ...");
    app.add_option("--algorithm", arguments.algorithm, "as --list names it");
    app.add_option("--ranks", arguments.ranks, "how many (8)");
    app.add_option("--root", arguments.root, "of rooted collectives (0)");
    app.add_option("--message-bytes", arguments.message, "of a block, or of the vector (1K)");
    app.add_option("--segment-bytes", arguments.segment, "0: the algorithm's own choice");
    app.add_option("--sites", arguments.sites, "of equal size, neighbours together (2)");
    app.add_option("--lanes", arguments.lanes, "between two sites (1)");
    app.add_option("--platform", arguments.platform, "platform.json of lanewise fit");
}

}  // namespace

int main(int argc, char **argv) {
    tools::ScheduleArguments arguments;
    CLI::App app("The schedules of collective algorithms, as JSON.", "lanewise-schedule");
    declare(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "lanewise-schedule: %s; --help lists the options\n", error.what());
        return 2;
    }
    const auto told = arguments.list ? Result<Json>(tools::written_algorithms())
                                     : tools::schedules_told(arguments);
    if (told) {
        std::puts(told->dump().c_str());
        return 0;
    }
    std::fprintf(stderr, "lanewise-schedule: %s\n", told.failure().sentence.c_str());
    return told.failure().status == LW_ERR_IO ? 1 : 2;
}
