// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-device-ports: the ports and GIDs of this host's RDMA devices as one line of JSON, for
// `lanewise rdma discover`. libibverbs is loaded when it is asked for, because the other
// subcommands run where there is none; under `lanewise rdma run` it is the software device's.

#include <dlfcn.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cstdio>
#include <string>

#include "options/options.hpp"
#include "paths/device.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

using paths::Calls;
using paths::GidEntry;
using paths::Port;

struct Verbs {
    Calls calls;
    ibv_device **(*get_device_list)(int *) = nullptr;
    void (*free_device_list)(ibv_device **) = nullptr;
    ibv_context *(*open_device)(ibv_device *) = nullptr;
    int (*close_device)(ibv_context *) = nullptr;
};

/* Of what the library lacks, `lacks` gets the name. */
template <typename Function>
void fill(Function *& function, void *library, const char *name, std::string& lacks) {
    function = reinterpret_cast<Function *>(dlvsym(library, name, "IBVERBS_1.1"));
    if (!function) lacks = name;
}

Result<Verbs> load_verbs() {
    void *library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (!library) {
        return Failure{LW_ERR_UNSUPPORTED,
                       fmt::format("libibverbs cannot be loaded: {}; install rdma-core's "
                                   "libibverbs1",
                                   dlerror())};
    }
    Verbs made;
    std::string lacks;
    fill(made.calls.query_device, library, "ibv_query_device", lacks);
    fill(made.calls.query_gid, library, "ibv_query_gid", lacks);
    fill(made.get_device_list, library, "ibv_get_device_list", lacks);
    fill(made.free_device_list, library, "ibv_free_device_list", lacks);
    fill(made.open_device, library, "ibv_open_device", lacks);
    fill(made.close_device, library, "ibv_close_device", lacks);
    if (lacks.empty()) return made;
    return Failure{LW_ERR_UNSUPPORTED,
                   fmt::format("libibverbs.so.1 has no {} of version IBVERBS_1.1", lacks)};
}

std::string described(const Port& port, const char *device) {
    std::string gids;
    for (const GidEntry& entry : port.gids) {
        gids += fmt::format(R"({}"{}")", gids.empty() ? "" : ", ", paths::text_of(entry.gid));
    }
    return fmt::format(R"({{"device": "{}", "port": {}, "active": {}, "lid": {}, "gids": [{}]}})",
                       device, port.number, port.active, port.lid, gids);
}

std::string describe_ports(const Verbs& verbs) {
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
    if (*parsed) return std::fputs((*parsed)->c_str(), stdout), 0;
    const auto verbs = load_verbs();
    if (!verbs) return say_failure(program, verbs.failure());
    std::puts(describe_ports(*verbs).c_str());
    return 0;
}

}  // namespace lanewise::tools
