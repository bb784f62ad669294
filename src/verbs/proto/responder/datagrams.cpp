// SPDX-License-Identifier: BSD-3-Clause
//
// Unreliable datagrams at the responder. A receive buffer begins with 40 bytes for a global route
// header; from IPv4 the header stands in its last 20 bytes (annex A17 of IBA 1).

#include <array>
#include <cstring>

#include "verbs/proto/memory/scatter.hpp"
#include "verbs/proto/responder/responder.hpp"
#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs {
namespace {

using RouteHeader = std::array<std::byte, 40>;

RouteHeader route_header(const Arrival& from, std::size_t udp_bytes) {
    RouteHeader header{};
    std::byte *at = header.data();
    if (is_ipv4(from.source)) {
        at += 20;
        at[0] = std::byte{0x45};
        at[1] = std::byte{from.traffic_class};
        store_network(at + 2, 20 + udp_bytes, 2);
        at[8] = std::byte{from.hop_limit};
        at[9] = std::byte{17};
        std::memcpy(at + 12, from.source.data() + 12, 4);
        std::memcpy(at + 16, from.destination.data() + 12, 4);
        return header;
    }
    store_network(at, 0x60000000u | static_cast<std::uint32_t>(from.traffic_class) << 20);
    store_network(at + 4, udp_bytes, 2);
    at[6] = std::byte{17};
    at[7] = std::byte{from.hop_limit};
    std::memcpy(at + 8, from.source.data(), 16);
    std::memcpy(at + 24, from.destination.data(), 16);
    return header;
}

}  // namespace

void Responder::on_datagram(const Packet& packet, const Arrival& from) {
    if (packet.datagram.qkey != connection_.attributes.qkey) {
        ++connection_.device.port(from.port).counters.qkey_violations;
        ++connection_.counters.dropped;
        return;
    }
    const MemoryTable& memory = connection_.device.memory;
    const ProtectionDomain domain = connection_.init.domain;
    const RouteHeader header =
        route_header(from, 8 + datagram_bytes(packet.row, packet.payload.size()));
    const std::size_t bytes = header.size() + packet.payload.size();
    if (packet.payload.size() > connection_.mtu() || !obtain_receive() ||
        bytes > length_bytes(receive_.slices)) {
        ++connection_.counters.dropped;  // the request waits for a datagram that fits
        return;
    }
    if (scatter(memory, domain, receive_.slices, 0, header) != Copied::all ||
        scatter(memory, domain, receive_.slices, header.size(), packet.payload) != Copied::all) {
        fail_receive(Status::local_protection_error);
        connection_.fail();
        return;
    }
    has_receive_ = false;
    connection_.complete(connection_.init.receive_queue,
                         {.id = receive_.id,
                          .work = CompletedWork::receive,
                          .has_immediate = packet.row.has_immediate(),
                          .has_grh = true,
                          .solicited = packet.base.solicited,
                          .service_level = from.service_level,
                          .source_lid = from.source_lid,
                          .length_bytes = static_cast<std::uint32_t>(bytes),
                          .immediate = packet.immediate,
                          .qpn = connection_.init.number,
                          .source_qpn = packet.datagram.source_qpn});
}

}  // namespace lanewise::verbs
