// SPDX-License-Identifier: BSD-3-Clause
//
// Marks, notifications and slower senders between two devices.

#include <gtest/gtest.h>

#include <algorithm>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

const DeviceConfig controlled{.port_count = 2, .congestion = Congestion::dcqcn};

// A path of 100 Mbit/s that marks what would wait there for more than 2 ms.
const Faults narrow{.rate_bits_per_s = 100e6, .marks_above_ns = 2'000'000};

// Writes `count` times 16 KiB, and returns how long that took.
Nanoseconds stream(Pair& pair, std::uint64_t count) {
    constexpr std::size_t bytes = 16 << 10;
    const Nanoseconds begun = pair.wire.now();
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
    const auto go_on = [&] {
        done += pair.a.sends().size();
        for (; posted < count && posted < done + 64; ++posted) {
            pair.a.post(Operation::write, posted, pair.a.slice(0, bytes), pair.b, 0);
        }
        return done == count;
    };
    go_on();
    pair.wire.run_until(go_on);
    EXPECT_EQ(done, count);
    return pair.wire.now() - begun;
}

TEST(Congestion, SlowsTheSenderDownBeforeTheQueueIsLong) {
    Pair without({}, {.port_count = 2});
    Pair with({}, controlled);
    for (Pair *pair : {&without, &with}) {
        pair->wire.path(1) = narrow;
        stream(*pair, 500);
        pair->wire.longest_wait_ns = 0;  // the first window leaves before any notification can come
    }

    const Nanoseconds slow = stream(with, 500);
    const Nanoseconds fast = stream(without, 500);

    EXPECT_GT(without.wire.longest_wait_ns, 15'000'000);
    EXPECT_LT(with.wire.longest_wait_ns, without.wire.longest_wait_ns / 2);
    EXPECT_LT(static_cast<double>(slow), 1.25 * static_cast<double>(fast));
}

TEST(Congestion, IsCountedAtBothEndsUnderTheNamesOfACard) {
    Pair pair({}, controlled);
    pair.wire.path(1) = {.rate_bits_per_s = 1e9, .marks_above_ns = 200'000};
    stream(pair, 200);

    const PortCounters& sender = pair.a.device->counters(1);
    const PortCounters& receiver = pair.b.device->counters(1);
    EXPECT_GT(receiver.np_ecn_marked_roce_packets, 10u);
    EXPECT_GT(receiver.np_cnp_sent, 2u);
    EXPECT_LT(receiver.np_cnp_sent, receiver.np_ecn_marked_roce_packets);
    EXPECT_EQ(sender.rp_cnp_handled + sender.rp_cnp_ignored, receiver.np_cnp_sent);
    EXPECT_GT(sender.rp_cnp_handled, 0u);
}

TEST(Congestion, OfADeviceThatDoesNotHeedItIsNeitherMarkedNorAnswered) {
    Pair pair({}, {.port_count = 2});
    pair.wire.path(1) = narrow;
    stream(pair, 100);

    EXPECT_EQ(pair.b.device->counters(1).np_ecn_marked_roce_packets, 0u);
    EXPECT_EQ(pair.b.device->counters(1).np_cnp_sent, 0u);
}

TEST(Congestion, SlowsDownWhoAnswersReads) {
    Pair pair({}, controlled);
    pair.wire.path(1) = narrow;
    constexpr std::size_t bytes = 256 << 10;
    for (std::uint64_t i = 0; i < 16; ++i) {
        ASSERT_EQ(pair.a.post(Operation::read, i, pair.a.slice(0, bytes), pair.b, 0), 0);
    }
    std::size_t done = 0;
    pair.wire.run_until([&] { return (done += pair.a.sends().size()) == 16; });

    EXPECT_EQ(done, 16u);
    EXPECT_GT(pair.b.device->counters(1).rp_cnp_handled, 0u);
    EXPECT_TRUE(pair.b.queue_pair->rate().is_limited());
}

void send_datagram(Pair& pair, std::uint8_t traffic_class) {
    AddressVector address = pair.a.vector(1);
    address.traffic_class = traffic_class;
    const Slice one = pair.a.slice(0, 100);
    SendRequest request{.slices = {&one, 1}, .address = &address};
    request.remote_qpn = pair.b.queue_pair->number();
    request.remote_qkey = 0x1234;
    ASSERT_EQ(pair.a.queue_pair->post_send(request), 0);
}

// What the tap sees as a notification.
bool is_notification(const std::vector<std::byte>& datagram) {
    return datagram.front() == std::byte{0x81};
}

TEST(Congestion, IsToldByAPacketAsTheAnnexDescribesIt) {
    Pair pair({}, controlled);
    pair.wire.path(1) = {.marks_above_ns = -1};  // every packet that may be marked
    std::vector<std::byte> told;
    pair.wire.tap = [&](std::size_t sender, std::vector<std::byte>& datagram) {
        if (sender == 1 && is_notification(datagram)) told = datagram;
        return true;
    };
    stream(pair, 1);

    ASSERT_EQ(told.size(), 12u + 16u + 4u);
    const auto packet = decode(told).packet;
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->base.backward_congestion);
    EXPECT_FALSE(packet->base.ack_request);
    EXPECT_EQ(packet->base.psn, Psn(0));
    EXPECT_EQ(packet->base.destination_qpn, pair.a.queue_pair->number());
    EXPECT_TRUE(std::all_of(told.begin() + 12, told.end() - 4,
                            [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(Congestion, IsToldTheSenderOfADatagram) {
    Pair pair({.transport = Transport::ud}, controlled);
    pair.wire.path(1) = {.marks_above_ns = -1};
    ASSERT_EQ(pair.b.post_receive(1, 0, 140), 0);
    send_datagram(pair, 0);
    pair.wire.run_until(idle, pair.wire.now() + second_ns);

    EXPECT_EQ(pair.b.receives().size(), 1u);
    EXPECT_EQ(pair.b.device->counters(1).np_cnp_sent, 1u);
    EXPECT_EQ(pair.a.device->counters(1).rp_cnp_handled, 1u);
}

TEST(Congestion, OfAnotherAddressThanThePeersSlowsNobodyDown) {
    Pair pair({}, controlled);
    std::vector<std::byte> told(32);
    told[0] = std::byte{0x81};
    told[2] = told[3] = std::byte{0xff};
    told[7] = static_cast<std::byte>(pair.a.queue_pair->number());
    Arrival from{.source_udp_port = 0xc001,
                 .source = address_of(Family::ipv4, 7, 1),
                 .destination = address_of(Family::ipv4, 0, 1)};
    seal(told, {from.source, from.destination, from.source_udp_port}, 0);
    pair.wire.deliver(0, told, from);
    EXPECT_EQ(pair.a.queue_pair->counters().foreign_packets, 1u);
    EXPECT_FALSE(pair.a.queue_pair->rate().is_limited());

    from.source = address_of(Family::ipv4, 1, 1);
    seal(told, {from.source, from.destination, from.source_udp_port}, 0);
    pair.wire.deliver(0, told, from);
    EXPECT_TRUE(pair.a.queue_pair->rate().is_limited());
}

TEST(Congestion, LeavesTheClassOfServiceToTheProgram) {
    constexpr std::uint8_t wanted = 26 << 2 | 1;
    Pair heeding({.transport = Transport::ud}, controlled);
    Pair heedless({.transport = Transport::ud}, {.port_count = 2});
    for (Pair *pair : {&heeding, &heedless}) {
        ASSERT_EQ(pair->b.post_receive(1, 0, 140), 0);
        send_datagram(*pair, wanted);
        pair->wire.run_until(idle, pair->wire.now() + second_ns);
    }

    // The second byte of the header of IPv4 that stands before a datagram.
    EXPECT_EQ(heeding.b.memory[21], std::byte{26 << 2 | can_be_marked});
    EXPECT_EQ(heedless.b.memory[21], std::byte{wanted});
}

}  // namespace
}  // namespace lanewise::verbs::testing
