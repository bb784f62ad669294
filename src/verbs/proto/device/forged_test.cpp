// SPDX-License-Identifier: BSD-3-Clause
//
// Packets with a right checksum from somebody who is not the peer, sometimes with its address.

#include <gtest/gtest.h>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr std::byte mark{0xEE};
constexpr std::size_t marked_at = 500'000;
constexpr std::uint8_t stranger = 77;

Arrival from_peer(std::uint8_t port = 1) {
    Arrival from{.port = port, .source_udp_port = 0xc000, .ip_id = 0};
    from.source = address_of(Family::ipv4, 0, port);
    from.destination = address_of(Family::ipv4, 1, port);
    return from;
}

Arrival from_stranger() {
    Arrival from = from_peer();
    from.source[15] = stranger;
    return from;
}

struct Forged {
    Transport transport = Transport::rc;
    std::int32_t ahead = 0;  // of the first number that the peer may use
    bool has_migrated = false;
    Arrival from = from_peer();
};

// A WRITE ONLY of eight marks to b's memory.
void forge(Pair& pair, const Forged& wanted) {
    Packet made;
    made.transport = wanted.transport;
    made.base.opcode = opcode_of(wanted.transport, PacketKind::write, Part::only, Extra::nothing);
    made.row = opcode_row(made.base.opcode);
    made.base.migration_request = wanted.has_migrated;
    made.base.destination_qpn = first_qpn + 1;
    made.base.psn = Psn(pair.a.options.send_psn[0]) + static_cast<std::uint32_t>(wanted.ahead);
    made.rdma = {pair.b.address(marked_at), pair.b.key, 8};
    std::vector<std::byte> bytes(datagram_bytes(made.row, 8), mark);
    encode_headers(made, bytes);
    const Arrival& from = wanted.from;
    seal(bytes, {from.source, from.destination, from.source_udp_port}, 0);
    pair.wire.deliver(1, bytes, from);
}

const QueuePairCounters& counted(const Pair& pair) {
    return pair.b.queue_pair->counters();
}

// As the adapter sets it.
constexpr DeviceConfig probing{.port_count = 2, .reorder_ns = 200'000, .probe_ns = 500'000};

// Writes one byte at a time, each with another value, and waits for each.
void write_in_turn(Pair& pair, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        pair.a.memory[0] = static_cast<std::byte>(i + 1);
        pair.a.post(Operation::write, i, pair.a.slice(0, 1), pair.b, 0);
        pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });
        const auto done = pair.a.sends();
        ASSERT_EQ(done.size(), 1u) << i;
        ASSERT_EQ(done[0].status, Status::success) << i;
    }
}

TEST(Forged, APacketFurtherAheadThanAnyPeerSendsIsDroppedAndCounted) {
    for (const std::int32_t ahead : {1024, 5000, 1 << 20, (1 << 23) - 1}) {
        Pair pair({}, probing);
        forge(pair, {.ahead = ahead});

        write_in_turn(pair, 4);

        EXPECT_EQ(counted(pair).outside_window, 1u) << ahead;
        EXPECT_EQ(counted(pair).out_of_order, 0u) << ahead;
        EXPECT_EQ(counted(pair).sequence_naks_sent, 0u) << ahead;
        EXPECT_EQ(pair.b.memory[0], std::byte{4}) << ahead;
    }
}

TEST(Forged, APacketInsideTheWindowDoesNotDelayTheConnection) {
    Pair pair({}, probing);
    forge(pair, {.ahead = 900});
    const Nanoseconds start = pair.wire.now();

    write_in_turn(pair, 500);

    EXPECT_LT(pair.wire.now() - start, 500 * Nanoseconds{50'000});
    EXPECT_EQ(pair.a.queue_pair->counters().timeouts, 0u);
}

// A buffered packet is one that has overtaken few others.
TEST(Forged, APacketThatNothingLedToIsNotExecutedInPlaceOfTheGenuineOne) {
    Pair pair({}, probing);
    forge(pair, {.ahead = 900});

    write_in_turn(pair, 901);

    EXPECT_NE(pair.b.memory[marked_at], mark);
    EXPECT_EQ(pair.b.memory[0], std::byte{901 % 256});
    EXPECT_LT(counted(pair).sequence_naks_sent, 100u);
}

TEST(Forged, AnUnreliableConnectionGoesOnBehindAPacketFarAhead) {
    for (const std::int32_t ahead : {5000, 1 << 20, (1 << 23) - 1, -5000}) {
        Pair pair({.transport = Transport::uc});
        forge(pair, {.transport = Transport::uc, .ahead = ahead});

        pair.a.memory[0] = std::byte{7};
        pair.a.post(Operation::write, 1, pair.a.slice(0, 1), pair.b, 0);
        pair.wire.run_for(1'000'000);

        EXPECT_EQ(pair.b.memory[0], std::byte{7}) << ahead;
        EXPECT_EQ(counted(pair).outside_window, 1u) << ahead;
        EXPECT_NE(pair.b.memory[marked_at], mark) << ahead;
    }
}

// After a long outage the peer is where nothing it sent before could have led.
TEST(Forged, AnUnreliableConnectionGoesOnWhereTwoPacketsFollowEachOther) {
    Pair pair({.transport = Transport::uc});
    pair.wire.path(1).cut = true;
    for (int i = 0; i < 5000; ++i) {
        pair.a.post(Operation::write, 1, pair.a.slice(0, 1), pair.b, 0);
        pair.wire.run_for(1000);
        pair.a.sends();
    }
    pair.wire.path(1).cut = false;
    for (int i = 0; i < 2; ++i) {
        pair.a.memory[0] = static_cast<std::byte>(i + 1);
        pair.a.post(Operation::write, 1, pair.a.slice(0, 1), pair.b, 0);
    }
    pair.wire.run_for(1'000'000);

    EXPECT_EQ(pair.b.memory[0], std::byte{2});
}

TEST(Forged, PacketsFromAnotherAddressAreForeign) {
    Pair pair;
    forge(pair, {.from = from_stranger()});

    EXPECT_EQ(counted(pair).foreign_packets, 1u);
    EXPECT_EQ(counted(pair).packets_received, 0u);
    EXPECT_NE(pair.b.memory[marked_at], mark);
}

struct Armed {
    Armed() {
        pair.a.rearm();
        pair.b.rearm();
        pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
        pair.wire.run_for(1'000'000);
        pair.b.events();
    }
    Migration state() const { return pair.b.queue_pair->query().migration; }
    Pair pair;
};

TEST(Forged, AStrangerRaisesNoMigrationError) {
    Armed armed;
    ASSERT_EQ(armed.state(), Migration::armed);

    forge(armed.pair, {.ahead = 1, .has_migrated = true, .from = from_stranger()});

    EXPECT_TRUE(armed.pair.b.events().empty());
    EXPECT_EQ(counted(armed.pair).foreign_packets, 1u);
}

TEST(Forged, APacketThatThePeerCouldNotSendMigratesNothing) {
    for (const std::int32_t ahead : {5000, -5000}) {
        Armed armed;
        forge(armed.pair, {.ahead = ahead, .has_migrated = true, .from = from_peer(2)});

        EXPECT_EQ(armed.state(), Migration::armed) << ahead;
        EXPECT_TRUE(armed.pair.b.events().empty()) << ahead;
        EXPECT_EQ(counted(armed.pair).outside_window, 1u) << ahead;
    }
}

}  // namespace
}  // namespace lanewise::verbs::testing
