// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams of a protected device: they leave on both ports and arrive once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::IsEmpty;

struct DatagramsOverBothPorts : ::testing::Test {
    Pair pair{{.transport = Transport::ud}};

    void SetUp() override {
        for (Peer *peer : {&pair.a, &pair.b}) {
            const Peer self = *peer;
            peer->device->send_datagrams_also([self](const AddressVector& to) {
                return std::optional(self.vector(to.port == 1 ? 2 : 1));
            });
        }
    }
    void send(std::size_t bytes = 100) {
        const Slice slice = pair.a.slice(0, bytes);
        const AddressVector address = pair.a.vector(1);
        ASSERT_EQ(pair.a.queue_pair->post_send({.id = 1,
                                                .slices = {&slice, 1},
                                                .address = &address,
                                                .remote_qpn = pair.b.queue_pair->number(),
                                                .remote_qkey = 0x1234}),
                  0);
    }
    std::size_t received() {
        pair.wire.run_until([] { return false; });
        return pair.b.receives().size();
    }
    void post(int count) {
        for (int i = 0; i < count; ++i) pair.b.post_receive(5, 0, 4200);
    }
};

TEST_F(DatagramsOverBothPorts, ArriveOnceEach) {
    post(8);
    for (int i = 0; i < 5; ++i) send();
    EXPECT_EQ(received(), 5u);
    EXPECT_EQ(pair.wire.datagrams, 10u);
    EXPECT_EQ(pair.b.queue_pair->counters().duplicates, 5u);
    EXPECT_EQ(pair.a.sends().size(), 5u);
}

TEST_F(DatagramsOverBothPorts, ArriveWhicheverPortIsCutAndByTurns) {
    post(20);
    for (int turn = 0; turn < 4; ++turn) {
        const auto port = static_cast<std::uint8_t>(1 + turn % 2);
        pair.wire.path(port).cut = true;  // nobody notices
        send();
        EXPECT_EQ(received(), 1u);
        pair.wire.path(port).cut = false;
        send();
        EXPECT_EQ(received(), 1u);
    }
}

TEST_F(DatagramsOverBothPorts, ArriveWhileTheOwnPortHasNoCarrier) {
    post(2);
    pair.wire.cut(1);
    send();
    EXPECT_EQ(received(), 1u);
}

// Programs such as UCX compare the addresses in front of a datagram with those of their port.
TEST_F(DatagramsOverBothPorts, ShowTheAddressesOfThePortTheyWereMeantFor) {
    post(1);
    pair.wire.path(1).cut = true;
    send();
    ASSERT_EQ(received(), 1u);
    const Address source = address_of(Family::ipv4, 0, 1);
    const Address destination = address_of(Family::ipv4, 1, 1);
    EXPECT_EQ(std::memcmp(pair.b.memory.data() + 32, source.data() + 12, 4), 0);
    EXPECT_EQ(std::memcmp(pair.b.memory.data() + 36, destination.data() + 12, 4), 0);
}

TEST_F(DatagramsOverBothPorts, AreNotTakenFromAnotherPortWithoutAWayThere) {
    post(2);
    pair.b.device->send_datagrams_also({});
    pair.wire.path(1).cut = true;
    send();
    EXPECT_EQ(received(), 0u);
    EXPECT_EQ(pair.b.queue_pair->counters().foreign_packets, 1u);
}

TEST_F(DatagramsOverBothPorts, LongAndShortOnesKeepTheirBytes) {
    post(3);
    for (std::size_t i = 0; i < 4096; ++i) pair.a.memory[i] = static_cast<std::byte>(i * 7);
    pair.wire.path(1).cut = true;
    for (const std::size_t bytes : {4096u, 4096u, 3u}) send(bytes);
    ASSERT_EQ(received(), 3u);
    EXPECT_EQ(std::memcmp(pair.b.memory.data() + 40, pair.a.memory.data(), 4096), 0);
}

}  // namespace
}  // namespace lanewise::verbs::testing
