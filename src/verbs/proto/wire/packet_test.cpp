// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/packet.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {
namespace {

Packet any_packet(std::uint8_t opcode, std::mt19937_64& random) {
    Packet packet;
    packet.row = opcode_row(opcode);
    packet.base = {.opcode = opcode,
                   .solicited = random() % 2 == 0,
                   .migration_request = random() % 2 == 0,
                   .ack_request = random() % 2 == 0,
                   .backward_congestion = random() % 2 == 0,
                   .pkey = static_cast<std::uint16_t>(random()),
                   .destination_qpn = static_cast<std::uint32_t>(random() & 0xffffff),
                   .psn = Psn(static_cast<std::uint32_t>(random()))};
    packet.datagram = {static_cast<std::uint32_t>(random()),
                       static_cast<std::uint32_t>(random() & 0xffffff)};
    packet.rdma = {random(), static_cast<std::uint32_t>(random()),
                   static_cast<std::uint32_t>(random())};
    packet.atomic = {random(), static_cast<std::uint32_t>(random()), random(), random()};
    packet.ack = {static_cast<std::uint8_t>(random()),
                  static_cast<std::uint32_t>(random() & 0xffffff)};
    packet.atomic_result = random();
    packet.immediate = static_cast<std::uint32_t>(random());
    packet.invalidated_key = static_cast<std::uint32_t>(random());
    packet.srqn = static_cast<std::uint32_t>(random() & 0xffffff);
    return packet;
}

std::vector<std::uint8_t> known_opcodes() {
    std::vector<std::uint8_t> known;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        if (opcode_row(static_cast<std::uint8_t>(opcode)).kind != PacketKind::unknown) {
            known.push_back(static_cast<std::uint8_t>(opcode));
        }
    }
    return known;
}

std::vector<std::byte> written(Packet& packet, std::size_t payload_bytes) {
    packet.base.pad_bytes = static_cast<std::uint8_t>(-payload_bytes & 3u);
    std::vector<std::byte> bytes(datagram_bytes(packet.row, payload_bytes));
    encode_headers(packet, bytes);
    return bytes;
}

void expect_same_base(const BaseHeader& a, const BaseHeader& b) {
    EXPECT_EQ(a.opcode, b.opcode);
    EXPECT_EQ(a.solicited, b.solicited);
    EXPECT_EQ(a.migration_request, b.migration_request);
    EXPECT_EQ(a.ack_request, b.ack_request);
    EXPECT_EQ(a.backward_congestion, b.backward_congestion);
    EXPECT_EQ(a.pkey, b.pkey);
    EXPECT_EQ(a.destination_qpn, b.destination_qpn);
    EXPECT_EQ(a.psn, b.psn);
}

void expect_same_extensions(const Packet& a, const Packet& b) {
    const unsigned present = a.row.extensions;
    if ((present & has_deth) != 0) {
        EXPECT_EQ(a.datagram.qkey, b.datagram.qkey);
        EXPECT_EQ(a.datagram.source_qpn, b.datagram.source_qpn);
    }
    if ((present & has_reth) != 0) {
        EXPECT_EQ(a.rdma.address, b.rdma.address);
        EXPECT_EQ(a.rdma.rkey, b.rdma.rkey);
        EXPECT_EQ(a.rdma.length_bytes, b.rdma.length_bytes);
    }
    if ((present & has_atomic_eth) != 0) {
        EXPECT_EQ(a.atomic.address, b.atomic.address);
        EXPECT_EQ(a.atomic.rkey, b.atomic.rkey);
        EXPECT_EQ(a.atomic.swap_or_add, b.atomic.swap_or_add);
        EXPECT_EQ(a.atomic.compare, b.atomic.compare);
    }
    if ((present & has_aeth) != 0) {
        EXPECT_EQ(a.ack.syndrome, b.ack.syndrome);
        EXPECT_EQ(a.ack.msn, b.ack.msn);
    }
    if ((present & has_atomic_ack_eth) != 0) {
        EXPECT_EQ(a.atomic_result, b.atomic_result);
    }
    if (a.row.has_immediate()) {
        EXPECT_EQ(a.immediate, b.immediate);
    }
    if (a.row.invalidates()) {
        EXPECT_EQ(a.invalidated_key, b.invalidated_key);
    }
    if ((present & has_xrceth) != 0) {
        EXPECT_EQ(a.srqn, b.srqn);
    }
}

TEST(Packet, OfEveryOpcodeIsReadAsItWasWritten) {
    std::mt19937_64 random(1);
    for (const std::uint8_t opcode : known_opcodes()) {
        for (const std::size_t payload_bytes : {0u, 1u, 3u, 64u, 4096u}) {
            Packet packet = any_packet(opcode, random);
            const std::size_t bytes = packet.row.has_payload ? payload_bytes : 0;

            const auto datagram = written(packet, bytes);
            const Decoded decoded = decode(datagram);

            ASSERT_TRUE(decoded.packet) << unsigned{opcode};
            EXPECT_EQ(decoded.packet->payload.size(), bytes);
            EXPECT_EQ(destination_qpn(datagram), packet.base.destination_qpn);
            expect_same_base(decoded.packet->base, packet.base);
            expect_same_extensions(*decoded.packet, packet);
        }
    }
}

TEST(Packet, CutShortAnywhereIsRefused) {
    std::mt19937_64 random(2);
    for (const std::uint8_t opcode : known_opcodes()) {
        Packet packet = any_packet(opcode, random);
        const auto datagram = written(packet, 0);
        for (std::size_t length = 0; length < datagram.size(); ++length) {
            EXPECT_FALSE(decode(std::span(datagram).first(length)).packet);
        }
    }
}

TEST(Packet, LongerThanAnyPathIsRefused) {
    std::mt19937_64 random(3);
    Packet packet = any_packet(4, random);

    EXPECT_EQ(decode(written(packet, 4100)).reason, Malformed::length);
}

TEST(Packet, WithDataWhereNoneBelongIsRefused) {
    std::mt19937_64 random(4);
    Packet packet = any_packet(12, random);

    EXPECT_EQ(decode(written(packet, 8)).reason, Malformed::length);
}

TEST(Packet, OfAnotherHeaderVersionIsRefused) {
    std::mt19937_64 random(5);
    Packet packet = any_packet(4, random);
    auto datagram = written(packet, 8);
    datagram[1] |= std::byte{1};

    EXPECT_EQ(decode(datagram).reason, Malformed::version);
}

TEST(Packet, WithAnOpcodeThatLanewiseDoesNotSpeakIsRefused) {
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        std::vector<std::byte> datagram(64);
        datagram[0] = static_cast<std::byte>(opcode);
        const bool known =
            opcode_row(static_cast<std::uint8_t>(opcode)).kind != PacketKind::unknown;

        EXPECT_EQ(decode(datagram).reason == Malformed::opcode, !known);
    }
}

TEST(Opcode, IsFoundFromWhatItMeans) {
    for (const std::uint8_t opcode : known_opcodes()) {
        const OpcodeRow& row = opcode_row(opcode);

        EXPECT_EQ(opcode_of(transport_of(opcode), row.kind, row.part, row.extra()), opcode);
    }
}

TEST(Psn, OrderHoldsAcrossTheWrap) {
    for (const std::uint32_t start : {0u, 5u, 0x7fffffu, 0x800000u, 0xfffffeu}) {
        for (const std::int32_t step : {-0x800000, -3, -1, 0, 1, 2, 0x7fffff}) {
            const Psn from(start);
            const Psn to = from + static_cast<std::uint32_t>(step);

            EXPECT_EQ(distance(from, to), step);
            EXPECT_EQ(before(from, to), step > 0);
        }
    }
}

TEST(Time, IsTheStandards) {
    EXPECT_EQ(ack_timeout_ns(0), never);
    EXPECT_EQ(ack_timeout_ns(14), 67'108'864);
    EXPECT_EQ(ack_timeout_ns(31), 4096LL << 31);
    EXPECT_EQ(rnr_timer_ns(0), 655'360'000);
    EXPECT_EQ(rnr_timer_ns(1), 10'000);
    EXPECT_EQ(rnr_timer_ns(12), 640'000);
    EXPECT_EQ(rnr_timer_ns(31), 491'520'000);
}

TEST(Credits, NeverPromiseMoreThanThereIs) {
    for (std::uint32_t requests = 0; requests < 40'000; ++requests) {
        const std::uint8_t code = credit_code(requests);

        ASSERT_LE(credits_of(code), requests);
        ASSERT_LT(code, credits_unlimited);
        ASSERT_TRUE(code == 30 || credits_of(static_cast<std::uint8_t>(code + 1)) > requests);
    }
}

}  // namespace
}  // namespace lanewise::verbs
