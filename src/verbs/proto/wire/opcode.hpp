// SPDX-License-Identifier: BSD-3-Clause
//
// The opcodes of the base transport header, one table row each: which operation and which part of
// its message a packet is, and which extended headers follow (IBA 1, 9.2 and table 38). All that
// differs between opcodes is read from the row, so nobody switches over 40 numbers.

#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise::verbs {

// The transport is the upper three bits of an opcode.
enum class Transport : std::uint8_t { rc = 0, uc = 1, ud = 3, notification = 4, xrc = 5 };

enum class PacketKind : std::uint8_t {
    unknown,
    send,
    write,
    read_request,
    read_response,
    acknowledge,
    atomic_acknowledge,
    compare_swap,
    fetch_add,
    congestion_notification,
};

enum class Part : std::uint8_t { only, first, middle, last };

// What the last packet of a message brings besides data: an immediate datum, or the key of a memory
// window that the peer is to invalidate.
enum class Extra : std::uint8_t { nothing, immediate, invalidation };

// Which extended headers follow the base header, in this order, but that has_xrceth comes first.
enum Extension : std::uint16_t {
    has_deth = 1,
    has_reth = 2,
    has_atomic_eth = 4,
    has_aeth = 8,
    has_atomic_ack_eth = 16,
    has_immediate = 32,
    has_ieth = 64,
    has_xrceth = 128,
    has_reserved = 256,  // 16 bytes of zeros
};

struct OpcodeRow {
    PacketKind kind = PacketKind::unknown;
    Part part = Part::only;
    std::uint16_t extensions = 0;
    bool has_payload = false;

    constexpr bool is_response() const {
        return kind == PacketKind::read_response || kind == PacketKind::acknowledge ||
               kind == PacketKind::atomic_acknowledge;
    }
    constexpr bool begins() const { return part == Part::only || part == Part::first; }
    constexpr bool ends() const { return part == Part::only || part == Part::last; }
    constexpr bool has_immediate() const { return (extensions & Extension::has_immediate) != 0; }
    constexpr bool invalidates() const { return (extensions & has_ieth) != 0; }
    constexpr Extra extra() const {
        return has_immediate() ? Extra::immediate
                               : (invalidates() ? Extra::invalidation : Extra::nothing);
    }
};

inline constexpr std::size_t bth_bytes = 12;
inline constexpr std::size_t icrc_bytes = 4;
inline constexpr std::size_t headers_bytes_max = 64;
inline constexpr std::size_t payload_bytes_max = 4096;

// The row of an opcode; kind is unknown where Lanewise does not speak it.
const OpcodeRow& opcode_row(std::uint8_t opcode);

// The opcode for a packet, which must be one of those in the table.
std::uint8_t opcode_of(Transport transport, PacketKind kind, Part part, Extra extra);

// The bytes of the extended headers of a row.
std::size_t extension_bytes(const OpcodeRow& row);

constexpr Transport transport_of(std::uint8_t opcode) {
    return static_cast<Transport>(opcode >> 5);
}

}  // namespace lanewise::verbs
