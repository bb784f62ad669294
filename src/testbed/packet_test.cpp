// SPDX-License-Identifier: BSD-3-Clause
//
// A GSO packet is charged for the segments it stands for, and the pieces it is cut into carry every
// byte once, under headers that a receiver accepts.

#include "testbed/packet.hpp"

#include <gtest/gtest.h>

#include "testbed/testing.hpp"

namespace lanewise::testbed {
namespace {

using namespace testing;

constexpr std::size_t header_bytes = payload_at - ip_at;

std::uint32_t ones_sum(PacketView bytes) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += number(bytes, at, 2);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

VirtioHeader vnet_of(PacketView packet) {
    VirtioHeader header;
    std::memcpy(&header, packet.data(), sizeof header);
    return header;
}

TEST(Packet, OneSegmentIsChargedForItself) {
    const auto shape = shape_of(tcp_packet(1000), Layer::ip);

    EXPECT_EQ(shape.segments, 1U);
    EXPECT_EQ(shape.wire_bytes, 1000 + header_bytes);
}

TEST(Packet, AGsoPacketIsChargedForTheHeadersOfItsSegments) {
    const auto shape = shape_of(tcp_packet(10 * 1460 + 1), Layer::ip);

    EXPECT_EQ(shape.segments, 11U);
    EXPECT_EQ(shape.wire_bytes, 10 * 1460 + 1 + 11 * header_bytes);
}

TEST(Packet, FlowsDifferByTheirPorts) {
    const auto flow = shape_of(tcp_packet(100), Layer::ip).flow;

    EXPECT_EQ(shape_of(tcp_packet(9000), Layer::ip).flow, flow);
    EXPECT_NE(shape_of(tcp_packet(100, 1460, 5001), Layer::ip).flow, flow);
}

TEST(Packet, AnEthernetHeaderIsStepped) {
    const auto bare = tcp_packet(3000);
    Packet framed(bare.begin(), bare.begin() + ip_at);
    framed.resize(framed.size() + 14);
    put(framed, ip_at + 12, 2, 0x0800);
    framed.insert(framed.end(), bare.begin() + ip_at, bare.end());

    const auto shape = shape_of(framed, Layer::ethernet);

    EXPECT_EQ(shape.flow, shape_of(bare, Layer::ip).flow);
    EXPECT_EQ(shape.segments, 3U);
}

TEST(Packet, WhatIsNoPacketIsOneSegmentOfNoFlow) {
    for (std::size_t bytes = 0; bytes < payload_at; ++bytes) {
        const auto whole = tcp_packet(0);
        const auto shape = shape_of(PacketView(whole).first(bytes), Layer::ip);
        EXPECT_EQ(shape.segments, 1U) << bytes;
    }
}

TEST(Packet, PiecesCarryEveryByteOnce) {
    constexpr std::uint16_t segment = 100;
    for (const std::size_t payload : {101U, 200U, 999U, 1000U, 1001U}) {
        const auto whole = tcp_packet(payload, segment);
        const auto segments = shape_of(whole, Layer::ip).segments;
        for (std::uint32_t first = 0; first < segments; ++first)
            for (std::uint32_t count = 1; first + count <= segments; ++count) {
                const auto piece = cut(whole, Layer::ip, first, count);
                const auto begin = std::size_t{first} * segment;
                const auto end = std::min(begin + std::size_t{count} * segment, payload);
                ASSERT_EQ(piece.size() - payload_at, end - begin);
                EXPECT_TRUE(std::equal(piece.begin() + payload_at, piece.end(),
                                       whole.begin() + payload_at + static_cast<long>(begin)));
                EXPECT_EQ(shape_of(piece, Layer::ip).segments, count);
            }
    }
}

TEST(Packet, APieceHasTheHeadersOfItsPlace) {
    const auto whole = tcp_packet(1000, 100);
    const auto piece = cut(whole, Layer::ip, 3, 4);

    EXPECT_EQ(number(piece, ip_at + 2, 2), piece.size() - ip_at);
    EXPECT_EQ(number(piece, ip_at + 4, 2), 7U + 3U);
    EXPECT_EQ(ones_sum(PacketView(piece).subspan(ip_at, 20)), 0xffffU);
    EXPECT_EQ(number(piece, tcp_at + 4, 4), 0xfffff000U + 300U);
    EXPECT_EQ(number(piece, tcp_at + 13, 1), 0x10U) << "only ACK is left in the middle";
    const auto pseudo = number(piece, tcp_at + 16, 2);
    EXPECT_EQ(pseudo, 0x0a01U + 0x0001U + 0x0a02U + 0x0001U + 6U + 20U + 400U);
    EXPECT_EQ(vnet_of(piece).kind, kind_tcp4);
    EXPECT_EQ(vnet_of(piece).segment_bytes, 100U);
}

TEST(Packet, TheFirstAndTheLastPieceKeepTheirFlags) {
    const auto whole = tcp_packet(1000, 100);

    EXPECT_EQ(number(cut(whole, Layer::ip, 0, 1), tcp_at + 13, 1), 0x90U);
    EXPECT_EQ(number(cut(whole, Layer::ip, 9, 1), tcp_at + 13, 1), 0x19U);
}

TEST(Packet, APieceOfOneSegmentIsNoGsoPacket) {
    const auto piece = cut(tcp_packet(1000, 100), Layer::ip, 9, 1);

    EXPECT_EQ(vnet_of(piece).kind, kind_none);
    EXPECT_EQ(vnet_of(piece).segment_bytes, 0U);
    EXPECT_EQ(vnet_of(piece).flags, checksum_needed);
}

TEST(Packet, AMarkKeepsTheChecksumOfTheHeaderRight) {
    Packet packet = tcp_packet(100);
    put(packet, ip_at + 1, 1, 26 << 2 | 2);

    ASSERT_TRUE(mark(packet, Layer::ip));
    EXPECT_EQ(number(packet, ip_at + 1, 1), 26 << 2 | 3U);
    std::uint32_t sum = 0;
    for (std::size_t at = ip_at; at < tcp_at; at += 2) sum += number(packet, at, 2);
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffU);
}

TEST(Packet, AMarkOfIpv6StandsInTheSecondHalfOfTheClass) {
    Packet packet(sizeof(VirtioHeader) + 48);
    put(packet, ip_at, 4, 0x60000000 | (26 << 2 | 2) << 20);
    put(packet, ip_at + 6, 1, 17);

    ASSERT_TRUE(mark(packet, Layer::ip));
    EXPECT_EQ(number(packet, ip_at, 4), 0x60000000U | (26 << 2 | 3) << 20);
    put(packet, ip_at, 4, 0x60000000 | 26 << 2 << 20);
    EXPECT_FALSE(mark(packet, Layer::ip));
}

}  // namespace
}  // namespace lanewise::testbed
