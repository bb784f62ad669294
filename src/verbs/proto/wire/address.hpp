// SPDX-License-Identifier: BSD-3-Clause
//
// Where a packet goes: a GID, which in RoCEv2 is an IPv6 address or an IPv4 address mapped into
// one, and the address vector that a program gives, together with what the border made of it.

#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace lanewise::verbs {

using Address = std::array<std::uint8_t, 16>;

inline constexpr Address no_address{};

constexpr bool is_ipv4(const Address& address) {
    constexpr auto mapped =
        std::bit_cast<std::uint32_t>(std::array<std::uint8_t, 4>{0, 0, 255, 255});
    const auto words = std::bit_cast<std::array<std::uint32_t, 4>>(address);
    return words[0] == 0 && words[1] == 0 && words[2] == mapped;
}

// Explicit congestion notification, in the lower two bits of a traffic class (RFC 3168).
inline constexpr std::uint8_t congestion_bits = 3;
inline constexpr std::uint8_t can_be_marked = 2;  // ECT(0)
inline constexpr std::uint8_t marked = 3;         // CE

// A group: 224.0.0.0/4, or an IPv6 address that begins with ff.
constexpr bool is_multicast(const Address& address) {
    return is_ipv4(address) ? (address[12] & 0xf0) == 0xe0 : address[0] == 0xff;
}

// The upper fields are the program's (struct ibv_ah_attr); the engine keeps them to answer queries.
// The lower ones are resolved by the border, from GIDs or from its map of LIDs; they decide what
// stands on the wire, and which arriving packets belong to the path.
struct AddressVector {
    std::uint8_t port = 1;
    std::uint8_t service_level = 0;
    std::uint8_t source_path_bits = 0;
    std::uint8_t static_rate = 0;
    std::uint16_t destination_lid = 0;
    bool is_global = false;
    std::uint8_t source_gid_index = 0;
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;
    Address destination_gid = no_address;

    Address source = no_address;
    Address destination = no_address;
    std::uint16_t source_udp_port = 0xc000;

    bool operator==(const AddressVector&) const = default;
};

// What the headers of the next datagram to an address will say, as far as the ICRC covers it and
// the border decides. Segments of a batch count the identification up.
struct Origin {
    std::uint16_t source_udp_port = 0;
    std::uint16_t ip_id = 0;
    bool in_memory = false;  // to a process of this host, without an ICRC

    bool operator==(const Origin&) const = default;
};

// What the world knows of a packet that came in. `ip_id` is the identification of the IPv4 header;
// without it the ICRC is checked in the 16 of its bits that do not depend on it. `likely_ip_id`
// spares that check where it is right.
struct Arrival {
    static constexpr std::uint32_t unknown_id = 0xffffffff;

    std::uint8_t port = 1;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::uint8_t service_level = 0;
    std::uint16_t source_lid = 0;
    std::uint16_t source_udp_port = 0;
    std::uint32_t ip_id = unknown_id;
    std::uint16_t likely_ip_id = 0;
    bool in_memory = false;  // of a process of this host; there is no ICRC
    Address source = no_address;
    Address destination = no_address;
};

}  // namespace lanewise::verbs
