// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-device-ports: the ports and GIDs of this host's RDMA devices as one line of JSON, for
// `lanewise rdma discover`.

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cstdio>
#include <string>

#include "options/options.hpp"
#include "paths/loaded_verbs.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

using paths::GidEntry;
using paths::LoadedVerbs;
using paths::Port;

std::string described(const Port& port, const char *device) {
    std::string gids;
    for (const GidEntry& entry : port.gids) {
        gids += fmt::format(R"({}"{}")", gids.empty() ? "" : ", ", paths::text_of(entry.gid));
    }
    return fmt::format(R"({{"device": "{}", "port": {}, "active": {}, "lid": {}, "gids": [{}]}})",
                       device, port.number, port.active, port.lid, gids);
}

std::string describe_ports(const LoadedVerbs& verbs) {
    int count = 0;
    ibv_device **devices = verbs.get_device_list(&count);
    std::string ports;
    for (int i = 0; i < count; ++i) {
        ibv_context *context = verbs.open_device(devices[i]);
        if (!context) continue;
        for (const Port& port : read_ports(context, verbs.calls)) {
            ports += (ports.empty() ? "" : ", ") + described(port, devices[i]->name);
        }
        verbs.close_device(context);
    }
    if (devices) verbs.free_device_list(devices);
    return "[" + ports + "]";
}

}  // namespace

int device_ports_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-device-ports";
    Options options(program, "Prints the ports of this host's RDMA devices as JSON.");
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (*parsed) return print(**parsed);
    const auto verbs = paths::load_verbs();
    if (!verbs) return say_failure(program, verbs.failure());
    std::puts(describe_ports(*verbs).c_str());
    return 0;
}

}  // namespace lanewise::tools
