// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-schedule: the algorithms there are, and the schedule of every rank that one of them
// makes of a call. Blocks are all as long as the message.

#include <cstdio>

#include "collectives/report/schedule.hpp"
#include "options/options.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

void declare(Options& options, report::ScheduleRequest& request) {
    options.flag("--list", request.list, "List all algorithms and what they require of a call");
    options.text("--collective", "COLLECTIVE", request.collective,
                 "Collective, such as scatter or allreduce");
    options.text("--algorithm", "NAME", request.algorithm,
                 "Algorithm, by the name that --list prints");
    options.number("--ranks", "N", request.ranks, "Number of ranks of the schedule");
    options.number("--root", "RANK", request.root, "Root of rooted collectives");
    options.size("--size", "BYTES", request.message_bytes, "Size of one block, or of the vector");
    options.size("--segment", "BYTES", request.segment_bytes,
                 "Segment size; 0 means the algorithm's own choice");
    options.number("--sites", "N", request.sites,
                   "Number of sites of equal size, or of hosts for algorithms that need them");
    options.number("--lanes", "P", request.lanes, "Number of lanes between two sites");
    options.text("--platform", "FILE", request.platform,
                 "Platform file, for algorithms that need one");
}

}  // namespace

int schedule_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-schedule";
    report::ScheduleRequest request;
    Options options(program, "Prints the schedules of collective algorithms as JSON.");
    declare(options, request);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (*parsed) return print(**parsed);
    return run_and_report(program, "ask for fewer ranks", [&] {
        const auto answer =
            request.list ? Result<Json>(report::algorithms_json()) : report::schedules(request);
        if (!answer) return say_failure(program, answer.failure());
        std::puts(answer->dump().c_str());
        return 0;
    });
}

}  // namespace lanewise::tools
