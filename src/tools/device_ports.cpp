// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-device-ports: the ports and GIDs of this host's RDMA devices as one line of JSON, for
// `lanewise rdma discover`.

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <cstdio>
#include <string>

#include "paths/device.hpp"

namespace {

using namespace lanewise::paths;

std::string described(const Port& port, const char *device) {
    std::string gids;
    for (const GidEntry& entry : port.gids) {
        gids += fmt::format(R"({}"{}")", gids.empty() ? "" : ", ", text_of(entry.gid));
    }
    return fmt::format(R"({{"device": "{}", "port": {}, "active": {}, "lid": {}, "gids": [{}]}})",
                       device, port.number, port.active, port.lid, gids);
}

}  // namespace

int main() {
    const Calls calls{ibv_modify_qp, ibv_query_qp,        ibv_query_device,
                      ibv_query_gid, ibv_get_async_event, ibv_ack_async_event};
    int count = 0;
    ibv_device **devices = ibv_get_device_list(&count);
    std::string ports;
    for (int i = 0; i < count; ++i) {
        ibv_context *context = ibv_open_device(devices[i]);
        if (!context) continue;
        for (const Port& port : read_ports(context, calls)) {
            ports += (ports.empty() ? "" : ", ") + described(port, devices[i]->name);
        }
        ibv_close_device(context);
    }
    if (devices) ibv_free_device_list(devices);
    fmt::print("[{}]\n", ports);
    return 0;
}
