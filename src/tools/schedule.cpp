// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-schedule: the algorithms there are, and the schedule of every rank that one of them
// makes of a call. Blocks are all as long as the message.

#include <cstdio>

#include "collectives/report/schedule.hpp"
#include "collectives/report/schedule_json.hpp"
#include "options/options.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

constexpr const char *program = "lanewise-schedule";

void declare(Options& options, report::ScheduleRequest& request) {
    options.flag("--list", request.list, "all algorithms, with what they ask of a call");
    options.text("--collective", "COLLECTIVE", request.collective,
                 "scatter, bcast, allreduce, ...");
    options.text("--algorithm", "NAME", request.algorithm, "as --list names it");
    options.number("--ranks", "N", request.ranks, "number of ranks");
    options.number("--root", "RANK", request.root, "root of rooted collectives");
    options.size("--message-bytes", "SIZE", request.message_bytes, "of a block, or of the vector");
    options.size("--segment-bytes", "SIZE", request.segment_bytes, "0: the algorithm's own choice");
    options.number("--sites", "N", request.sites, "of equal size, neighbours together");
    options.number("--lanes", "P", request.lanes, "between two sites");
    options.text("--platform", "FILE", request.platform, "platform.json of lanewise model fit");
}

}  // namespace

int schedule_main(int argc, char **argv) {
    report::ScheduleRequest request;
    Options options(program, "Prints the schedules of collective algorithms as JSON.");
    declare(options, request);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (*parsed) return std::fputs((*parsed)->c_str(), stdout), 0;
    const auto answer =
        request.list ? Result<Json>(report::algorithms_json()) : report::schedules(request);
    if (!answer) return say_failure(program, answer.failure());
    std::puts(answer->dump().c_str());
    return 0;
}

}  // namespace lanewise::tools
