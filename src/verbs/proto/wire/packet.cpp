// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/packet.hpp"

#include <cstring>

#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::size_t reserved_bytes = 16;

void read_base(const std::byte *at, BaseHeader& base) {
    const auto flags = std::to_integer<unsigned>(at[1]);
    base.opcode = std::to_integer<std::uint8_t>(at[0]);
    base.solicited = (flags & 0x80) != 0;
    base.migration_request = (flags & 0x40) != 0;
    base.ack_request = (std::to_integer<unsigned>(at[8]) & 0x80) != 0;
    base.backward_congestion = (std::to_integer<unsigned>(at[4]) & 0x40) != 0;
    base.pad_bytes = static_cast<std::uint8_t>(flags >> 4 & 3);
    base.pkey = load_network<std::uint16_t>(at + 2);
    base.destination_qpn = load_network<std::uint32_t>(at + 5, 3);
    base.psn = Psn(load_network<std::uint32_t>(at + 9, 3));
}

std::size_t write_base(const BaseHeader& base, std::byte *at) {
    at[0] = std::byte{base.opcode};
    at[1] =
        static_cast<std::byte>((base.solicited ? 0x80u : 0u) |
                               (base.migration_request ? 0x40u : 0u) | (base.pad_bytes & 3u) << 4);
    store_network(at + 2, base.pkey);
    at[4] = static_cast<std::byte>(base.backward_congestion ? 0x40 : 0);
    store_network(at + 5, base.destination_qpn, 3);
    at[8] = static_cast<std::byte>(base.ack_request ? 0x80 : 0);
    store_network(at + 9, base.psn.value(), 3);
    return bth_bytes;
}

const std::byte *read_extensions(Packet& packet, const std::byte *at) {
    const unsigned present = packet.row.extensions;
    if ((present & has_xrceth) != 0) {
        packet.srqn = load_network<std::uint32_t>(at + 1, 3);
        at += 4;
    }
    if ((present & has_deth) != 0) {
        packet.datagram = {load_network<std::uint32_t>(at), load_network<std::uint32_t>(at + 5, 3)};
        at += 8;
    }
    if ((present & has_reth) != 0) {
        packet.rdma = {load_network<std::uint64_t>(at), load_network<std::uint32_t>(at + 8),
                       load_network<std::uint32_t>(at + 12)};
        at += 16;
    }
    if ((present & has_atomic_eth) != 0) {
        packet.atomic = {load_network<std::uint64_t>(at), load_network<std::uint32_t>(at + 8),
                         load_network<std::uint64_t>(at + 12),
                         load_network<std::uint64_t>(at + 20)};
        at += 28;
    }
    if ((present & has_aeth) != 0) {
        packet.ack = {std::to_integer<std::uint8_t>(at[0]), load_network<std::uint32_t>(at + 1, 3)};
        at += 4;
    }
    if ((present & has_atomic_ack_eth) != 0) {
        packet.atomic_result = load_network<std::uint64_t>(at);
        at += 8;
    }
    if (packet.row.has_immediate()) {
        std::memcpy(&packet.immediate, at, 4);
        at += 4;
    }
    if (packet.row.invalidates()) {
        packet.invalidated_key = load_network<std::uint32_t>(at);
        at += 4;
    }
    if ((present & has_reserved) != 0) {
        at += reserved_bytes;
    }
    return at;
}

// Fills in the packet. `count` if it is not malformed.
Malformed read(std::span<const std::byte> datagram, Packet& packet) {
    if (datagram.size() < bth_bytes + icrc_bytes) {
        return Malformed::truncated;
    }
    if ((std::to_integer<unsigned>(datagram[1]) & 0x0f) != 0) {
        return Malformed::version;
    }
    read_base(datagram.data(), packet.base);
    packet.row = opcode_row(packet.base.opcode);
    packet.transport = transport_of(packet.base.opcode);
    if (packet.row.kind == PacketKind::unknown) {
        return Malformed::opcode;
    }
    const std::size_t headers_bytes = bth_bytes + extension_bytes(packet.row);
    const std::size_t around_bytes = headers_bytes + packet.base.pad_bytes + icrc_bytes;
    if (datagram.size() < around_bytes) {
        return Malformed::truncated;
    }
    const std::size_t payload_bytes = datagram.size() - around_bytes;
    if ((payload_bytes + packet.base.pad_bytes) % 4 != 0) {
        return Malformed::padding;
    }
    if (payload_bytes > (packet.row.has_payload ? payload_bytes_max : 0)) {
        return Malformed::length;
    }
    read_extensions(packet, datagram.data() + bth_bytes);
    packet.payload = datagram.subspan(headers_bytes, payload_bytes);
    return Malformed::count;
}

}  // namespace

// The packet is written where the caller has it: a copy of what has just been written piece by
// piece takes the processor longer than to read the packet.
Decoded decode(std::span<const std::byte> datagram) {
    Decoded decoded;
    decoded.reason = read(datagram, decoded.packet.emplace());
    if (decoded.reason != Malformed::count) {
        decoded.packet.reset();
    }
    return decoded;
}

std::optional<std::uint32_t> destination_qpn(std::span<const std::byte> datagram) {
    if (datagram.size() < bth_bytes) {
        return std::nullopt;
    }
    return load_network<std::uint32_t>(datagram.data() + 5, 3);
}

std::size_t datagram_bytes(const OpcodeRow& row, std::size_t payload_bytes) {
    return bth_bytes + extension_bytes(row) + (payload_bytes + 3) / 4 * 4 + icrc_bytes;
}

std::size_t encode_headers(const Packet& packet, std::span<std::byte> into) {
    std::byte *at = into.data() + write_base(packet.base, into.data());
    const unsigned present = packet.row.extensions;
    if ((present & has_xrceth) != 0) {
        at[0] = std::byte{0};
        store_network(at + 1, packet.srqn, 3);
        at += 4;
    }
    if ((present & has_deth) != 0) {
        store_network(at, packet.datagram.qkey);
        at[4] = std::byte{0};
        store_network(at + 5, packet.datagram.source_qpn, 3);
        at += 8;
    }
    if ((present & has_reth) != 0) {
        store_network(at, packet.rdma.address);
        store_network(at + 8, packet.rdma.rkey);
        store_network(at + 12, packet.rdma.length_bytes);
        at += 16;
    }
    if ((present & has_atomic_eth) != 0) {
        store_network(at, packet.atomic.address);
        store_network(at + 8, packet.atomic.rkey);
        store_network(at + 12, packet.atomic.swap_or_add);
        store_network(at + 20, packet.atomic.compare);
        at += 28;
    }
    if ((present & has_aeth) != 0) {
        at[0] = std::byte{packet.ack.syndrome};
        store_network(at + 1, packet.ack.msn, 3);
        at += 4;
    }
    if ((present & has_atomic_ack_eth) != 0) {
        store_network(at, packet.atomic_result);
        at += 8;
    }
    if (packet.row.has_immediate()) {
        std::memcpy(at, &packet.immediate, 4);
        at += 4;
    }
    if (packet.row.invalidates()) {
        store_network(at, packet.invalidated_key);
        at += 4;
    }
    if ((present & has_reserved) != 0) {
        std::memset(at, 0, reserved_bytes);
        at += reserved_bytes;
    }
    return static_cast<std::size_t>(at - into.data());
}

}  // namespace lanewise::verbs
