// SPDX-License-Identifier: BSD-3-Clause
//
// What the device of this process is doing, as JSON for `lanewise rdma status`.

#include "verbs/abi/adapter.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/host.hpp"
#include "base/json.hpp"
#include "verbs/abi/sysfs_counters.hpp"

namespace lanewise::verbs::abi {
namespace {

// An answer is one datagram; what does not fit is only counted.
constexpr std::size_t queue_pairs_shown_max = 200;
constexpr std::array states{"reset", "init", "rtr", "rts", "sqd", "sqe", "error"};
constexpr std::array migrations{"migrated", "rearm", "armed"};
constexpr std::array transports{"rc", "uc", "rd", "ud", "", "xrc"};  // as enum Transport counts

std::string name_of_program() {
    std::ifstream file("/proc/self/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

Json counters_of(const PortCounters& from) {
    return {{"packets_sent", from.packets_sent},
            {"packets_received", from.packets_received},
            {"bytes_sent", from.bytes_sent},
            {"bytes_received", from.bytes_received},
            {"malformed", from.malformed},
            {"icrc_errors", from.icrc_errors},
            {"unknown_queue_pair", from.unknown_queue_pair},
            {"pkey_violations", from.pkey_violations},
            {"qkey_violations", from.qkey_violations},
            {"sends_failed", from.sends_failed},
            {"np_ecn_marked_roce_packets", from.np_ecn_marked_roce_packets},
            {"np_cnp_sent", from.np_cnp_sent},
            {"rp_cnp_handled", from.rp_cnp_handled},
            {"rp_cnp_ignored", from.rp_cnp_ignored}};
}

Json counters_of(const QueuePairCounters& from) {
    return {{"packets_sent", from.packets_sent},
            {"packets_received", from.packets_received},
            {"bytes_sent", from.bytes_sent},
            {"bytes_received", from.bytes_received},
            {"packets_resent", from.packets_resent},
            {"timeouts", from.timeouts},
            {"probes", from.probes},
            {"sequence_naks_sent", from.sequence_naks_sent},
            {"sequence_naks_received", from.sequence_naks_received},
            {"rnr_naks_sent", from.rnr_naks_sent},
            {"rnr_naks_received", from.rnr_naks_received},
            {"error_naks_sent", from.error_naks_sent},
            {"error_naks_received", from.error_naks_received},
            {"out_of_order", from.out_of_order},
            {"duplicates", from.duplicates},
            {"migrations", from.migrations},
            {"foreign_packets", from.foreign_packets},
            {"outside_window", from.outside_window},
            {"dropped", from.dropped}};
}

// By folder and name, as the kernel's files are.
Json sysfs_of(const Device& engine, std::uint8_t port) {
    const QueuePairCounters queue_pairs = engine.queue_pair_counters(port);
    Json shown = Json::object();
    for (const SysfsCounter& one : sysfs_counters()) {
        shown[std::string(one.folder)][one.name] = one.value(engine.counters(port), queue_pairs);
    }
    return shown;
}

Json ports_of(Adapter& adapter) {
    Json shown = Json::array();
    for (std::size_t index = 0; index < adapter.ports().size(); ++index) {
        const Port& port = adapter.ports()[index];
        const auto number = static_cast<std::uint8_t>(index + 1);
        Json gids = Json::array();
        for (const Address& gid : port.gids) {
            if (gid != no_address) gids.push_back(port::text(gid));
        }
        shown.push_back({{"port", number},
                         {"interface", port.interface.name},
                         {"state", port.active ? "active" : "down"},
                         {"gids", std::move(gids)},
                         {"counters", counters_of(adapter.engine().counters(number))},
                         {"sysfs", sysfs_of(adapter.engine(), number)}});
    }
    return shown;
}

Json queue_pair_of(const QueuePair& queue_pair) {
    const Attributes now = queue_pair.query();
    Json shown{{"number", queue_pair.number()},
               {"transport", transports.at(static_cast<std::size_t>(queue_pair.init().transport))},
               {"state", states.at(static_cast<std::size_t>(now.state))},
               {"port", now.port}};
    if (queue_pair.init().transport != Transport::ud) {
        shown["migration"] = migrations.at(static_cast<std::size_t>(now.migration));
        const Address& peer = now.primary.address.destination;
        const bool has_peer = now.state > State::init && peer != no_address;
        if (has_peer) shown.update({{"peer", now.destination_qpn}, {"address", port::text(peer)}});
    }
    shown["counters"] = counters_of(queue_pair.counters());
    return shown;
}

}  // namespace

std::string status_of(Adapter& adapter) {
    const std::vector<const QueuePair *> found = adapter.engine().queue_pairs();
    Json shown = Json::array();
    for (std::size_t at = 0; at < std::min(found.size(), queue_pairs_shown_max); ++at) {
        shown.push_back(queue_pair_of(*found[at]));
    }
    const bool infiniband = adapter.config().link_layer == LinkLayer::infiniband;
    return json_text({{"process", getpid()},
                      {"pid_namespace", pid_namespace()},
                      {"program", name_of_program()},
                      {"device", adapter.config().name},
                      {"link_layer", infiniband ? "infiniband" : "ethernet"},
                      {"regions", adapter.engine().memory().size()},
                      {"packets_forwarded", adapter.forwarded()},
                      {"letters_refused", adapter.letters_refused()},
                      {"ports", ports_of(adapter)},
                      {"queue_pair_count", found.size()},
                      {"queue_pairs", std::move(shown)}});
}

}  // namespace lanewise::verbs::abi
