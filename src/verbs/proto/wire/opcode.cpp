// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/opcode.hpp"

#include <array>

namespace lanewise::verbs {
namespace {

using Table = std::array<OpcodeRow, 256>;

constexpr std::uint8_t number(Transport transport, unsigned low) {
    return static_cast<std::uint8_t>((static_cast<unsigned>(transport) << 5) | low);
}

// Sends and writes have the same low bits in RC and UC.
constexpr void add_messages(Table& table, Transport transport) {
    const auto row = [&](unsigned low) -> OpcodeRow& { return table[number(transport, low)]; };
    constexpr auto immediate = Extension::has_immediate;
    row(0) = {PacketKind::send, Part::first, 0, true};
    row(1) = {PacketKind::send, Part::middle, 0, true};
    row(2) = {PacketKind::send, Part::last, 0, true};
    row(3) = {PacketKind::send, Part::last, immediate, true};
    row(4) = {PacketKind::send, Part::only, 0, true};
    row(5) = {PacketKind::send, Part::only, immediate, true};
    row(6) = {PacketKind::write, Part::first, has_reth, true};
    row(7) = {PacketKind::write, Part::middle, 0, true};
    row(8) = {PacketKind::write, Part::last, 0, true};
    row(9) = {PacketKind::write, Part::last, immediate, true};
    row(10) = {PacketKind::write, Part::only, has_reth, true};
    row(11) = {PacketKind::write, Part::only, has_reth | immediate, true};
}

constexpr void add_reliable(Table& table, Transport transport) {
    const auto row = [&](unsigned low) -> OpcodeRow& { return table[number(transport, low)]; };
    add_messages(table, transport);
    row(12) = {PacketKind::read_request, Part::only, has_reth, false};
    row(13) = {PacketKind::read_response, Part::first, has_aeth, true};
    row(14) = {PacketKind::read_response, Part::middle, 0, true};
    row(15) = {PacketKind::read_response, Part::last, has_aeth, true};
    row(16) = {PacketKind::read_response, Part::only, has_aeth, true};
    row(17) = {PacketKind::acknowledge, Part::only, has_aeth, false};
    row(18) = {PacketKind::atomic_acknowledge, Part::only, has_aeth | has_atomic_ack_eth, false};
    row(19) = {PacketKind::compare_swap, Part::only, has_atomic_eth, false};
    row(20) = {PacketKind::fetch_add, Part::only, has_atomic_eth, false};
    row(22) = {PacketKind::send, Part::last, has_ieth, true};
    row(23) = {PacketKind::send, Part::only, has_ieth, true};
}

// Each request of an extended connection names the shared receive queue that it is for.
constexpr void name_queues(Table& table) {
    for (unsigned low = 0; low < 32; ++low) {
        OpcodeRow& row = table[number(Transport::xrc, low)];
        const bool is_request = row.kind != PacketKind::unknown && !row.is_response();
        row.extensions |= is_request ? has_xrceth : 0;
    }
}

constexpr Table build() {
    Table table{};
    add_reliable(table, Transport::rc);
    add_messages(table, Transport::uc);
    add_reliable(table, Transport::xrc);
    name_queues(table);
    table[number(Transport::ud, 4)] = {PacketKind::send, Part::only, has_deth, true};
    table[number(Transport::ud, 5)] = {PacketKind::send, Part::only,
                                       has_deth | Extension::has_immediate, true};
    // RoCEv2 (annex A17.9.3): a receiver tells the sender that its packets were marked.
    table[number(Transport::notification, 1)] = {PacketKind::congestion_notification, Part::only,
                                                 has_reserved, false};
    return table;
}

constexpr Table table = build();

constexpr std::size_t place(Transport transport, PacketKind kind, Part part, Extra extra) {
    return static_cast<std::size_t>(transport) << 8 | static_cast<std::size_t>(kind) << 4 |
           static_cast<std::size_t>(part) << 2 | static_cast<std::size_t>(extra);
}

constexpr std::uint8_t no_opcode = 0xff;

// The table read backwards.
constexpr std::array<std::uint8_t, 2048> invert() {
    std::array<std::uint8_t, 2048> opcodes{};
    opcodes.fill(no_opcode);
    for (std::size_t opcode = 0; opcode < table.size(); ++opcode) {
        const OpcodeRow& row = table[opcode];
        if (row.kind != PacketKind::unknown) {
            const auto transport = transport_of(static_cast<std::uint8_t>(opcode));
            opcodes[place(transport, row.kind, row.part, row.extra())] =
                static_cast<std::uint8_t>(opcode);
        }
    }
    return opcodes;
}

constexpr auto opcodes = invert();

// By the sum of their Extension, how long these extended headers are together.
constexpr std::array<std::uint8_t, 512> sum_extensions() {
    constexpr std::array<std::uint8_t, 9> bytes{8, 16, 28, 4, 8, 4, 4, 4, 16};
    std::array<std::uint8_t, 512> sums{};
    for (std::size_t extensions = 0; extensions < sums.size(); ++extensions) {
        for (std::size_t bit = 0; bit < bytes.size(); ++bit) {
            sums[extensions] += (extensions >> bit & 1) != 0 ? bytes[bit] : std::uint8_t{0};
        }
    }
    return sums;
}

constexpr auto extensions_bytes = sum_extensions();

}  // namespace

const OpcodeRow& opcode_row(std::uint8_t opcode) {
    return table[opcode];
}

std::uint8_t opcode_of(Transport transport, PacketKind kind, Part part, Extra extra) {
    return opcodes[place(transport, kind, part, extra)];
}

std::size_t extension_bytes(const OpcodeRow& row) {
    return extensions_bytes[row.extensions];
}

}  // namespace lanewise::verbs
