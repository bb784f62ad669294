// SPDX-License-Identifier: BSD-3-Clause
//
// Packets for the tests: TCP over IPv4 as a TUN device gives it, a GSO packet where it is long.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "testbed/packet.hpp"

namespace lanewise::testbed::testing {

constexpr std::size_t ip_at = sizeof(VirtioHeader);
constexpr std::size_t tcp_at = ip_at + 20;
constexpr std::size_t payload_at = tcp_at + 20;

inline std::uint32_t number(PacketView packet, std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value = value << 8 | std::to_integer<std::uint32_t>(packet[at + i]);
    return value;
}

inline void put(Packet& packet, std::size_t at, std::size_t bytes, std::uint32_t value) {
    for (std::size_t i = bytes; i-- > 0; value >>= 8)
        packet[at + i] = static_cast<std::byte>(value & 0xff);
}

/* Payload byte i is i modulo 251, so that a slice tells where it came from. */
inline Packet tcp_packet(std::size_t payload_bytes, std::uint16_t segment_bytes = 1460,
                         std::uint16_t port = 5000) {
    Packet packet(payload_at + payload_bytes);
    VirtioHeader vnet;
    vnet.flags = checksum_needed;
    vnet.kind = payload_bytes > segment_bytes ? kind_tcp4 : kind_none;
    vnet.segment_bytes = payload_bytes > segment_bytes ? segment_bytes : std::uint16_t{0};
    vnet.checksum_start = 20;
    vnet.checksum_offset = 16;
    std::memcpy(packet.data(), &vnet, sizeof vnet);
    put(packet, ip_at, 1, 0x45);
    put(packet, ip_at + 2, 2, static_cast<std::uint32_t>(packet.size() - ip_at));
    put(packet, ip_at + 4, 2, 7);
    put(packet, ip_at + 9, 1, 6);
    put(packet, ip_at + 12, 4, 0x0a010001);
    put(packet, ip_at + 16, 4, 0x0a020001);
    put(packet, tcp_at, 2, port);
    put(packet, tcp_at + 2, 2, 6000);
    put(packet, tcp_at + 4, 4, 0xfffff000);
    put(packet, tcp_at + 12, 2, 0x5099); /* 20 bytes of header; CWR, ACK, PSH, FIN */
    for (std::size_t i = 0; i < payload_bytes; ++i)
        packet[payload_at + i] = static_cast<std::byte>(i % 251);
    return packet;
}

}  // namespace lanewise::testbed::testing
