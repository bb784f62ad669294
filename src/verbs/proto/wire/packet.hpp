// SPDX-License-Identifier: BSD-3-Clause
//
// A packet: what a UDP datagram to port 4791 holds, from the base transport header to the ICRC.
// decode() trusts nothing; what it returns is safe to act on, as far as a packet alone can be.
// The payload is a slice of the caller's bytes.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbs/proto/wire/headers.hpp"
#include "verbs/proto/wire/opcode.hpp"

namespace lanewise::verbs {

inline constexpr std::uint16_t roce_udp_port = 4791;

struct Packet {
    BaseHeader base;
    OpcodeRow row;  // of base.opcode
    Transport transport = Transport::rc;
    std::uint32_t srqn = 0;   // XRCETH
    DatagramHeader datagram;  // where the row says so; likewise below
    RdmaHeader rdma;
    AtomicHeader atomic;
    AckHeader ack;
    std::uint64_t atomic_result = 0;    // AtomicAckETH
    std::uint32_t immediate = 0;        // in network byte order
    std::uint32_t invalidated_key = 0;  // IETH
    std::span<const std::byte> payload;
};

// Why bytes are no packet, for the counters of the port.
enum class Malformed : std::uint8_t { truncated, version, opcode, padding, length, count };

struct Decoded {
    std::optional<Packet> packet;
    Malformed reason = Malformed::truncated;
};

// Reads a datagram. The ICRC is not looked at; icrc.hpp checks it.
Decoded decode(std::span<const std::byte> datagram);

// The queue pair that a datagram is for, before anything else is known; none if it is too short.
std::optional<std::uint32_t> destination_qpn(std::span<const std::byte> datagram);

// The bytes of a datagram with `payload_bytes`, headers, padding and ICRC included.
std::size_t datagram_bytes(const OpcodeRow& row, std::size_t payload_bytes);

// What a packet occupies in the socket buffer at the other end, where a small packet needs far more
// than its payload. Windows are measured in it.
constexpr std::uint32_t socket_buffer_bytes(std::size_t payload_bytes) {
    constexpr std::size_t least = 512;
    return static_cast<std::uint32_t>(std::max(least, payload_bytes));
}

// Writes the headers and returns how many bytes they took. The caller puts the payload behind
// them, pads it with base.pad_bytes zeros, and seals the datagram with icrc.hpp.
std::size_t encode_headers(const Packet& packet, std::span<std::byte> into);

}  // namespace lanewise::verbs
