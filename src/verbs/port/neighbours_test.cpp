// SPDX-License-Identifier: BSD-3-Clause
//
// Packets between processes of one host. Several wires in one process behave as several processes.

#include "verbs/port/neighbours.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "verbs/port/wire.hpp"

namespace lanewise::verbs::port {
namespace {

const Address loopback = address_of(in_addr{htonl(INADDR_LOOPBACK)});
const Home home{loopback, 1};

struct TwoProcesses : ::testing::Test {
    Result<Wire> a = Wire::open(std::span(&home, 1));
    Result<Wire> b = Wire::open(std::span(&home, 1));
    std::vector<std::byte> received;
    bool in_memory = false;

    std::uint32_t number() const { return first_number(b->slot()) + 3; }
    bool reaches_in_memory(const Route& route) {
        bool found = false;
        for (int i = 0; i <= Neighbours::uses_before_offer; ++i) {
            found = a->origin(route, number()).in_memory;
            while (b->receive_forwarded([](const Datagram&) {})) {
            }
        }
        return found;
    }
    Sent send(std::byte value, std::size_t bytes = 100) {
        std::vector<std::byte> packet(bytes, value);
        packet[5] = static_cast<std::byte>(number() >> 16);
        packet[6] = static_cast<std::byte>(number() >> 8);
        packet[7] = static_cast<std::byte>(number());
        const Route around{loopback, loopback, 1};
        const iovec piece{packet.data(), packet.size()};
        return a->send({.route = around,
                        .origin = a->origin(around, number()),
                        .segment_bytes = 0,
                        .pieces = std::span(&piece, 1)});
    }
    bool receive() {
        return b->receive([this](const Datagram& one) {
            received.push_back(one.packet.back());
            in_memory = one.in_memory;
            EXPECT_EQ(one.source, loopback);
        });
    }
};

TEST_F(TwoProcesses, OfOneUserMeetInMemory) {
    ASSERT_TRUE(a && b);
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    EXPECT_EQ(send(std::byte{1}), Sent::yes);
    EXPECT_EQ(send(std::byte{2}), Sent::yes);
    while (receive()) {
    }
    EXPECT_EQ(received, (std::vector{std::byte{1}, std::byte{2}}));
    EXPECT_TRUE(in_memory);
}

// Another host may have a process with the same slot.
TEST_F(TwoProcesses, DoNotMeetWhereTheAddressIsThatOfAnotherHost) {
    ASSERT_TRUE(a && b);
    const Address elsewhere = address_of(in_addr{htonl(0x7f000009)});
    EXPECT_FALSE(reaches_in_memory({loopback, elsewhere, 1}));
}

TEST_F(TwoProcesses, KeepToSocketsWhereTold) {
    ASSERT_TRUE(a && b);
    b->keep_to_sockets();
    EXPECT_FALSE(reaches_in_memory({loopback, loopback, 1}));
}

TEST_F(TwoProcesses, WaitForRoomAndGoOn) {
    ASSERT_TRUE(a && b);
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    std::size_t sent = 0;
    while (send(std::byte{7}, 60'000) == Sent::yes) ++sent;
    EXPECT_EQ(a->full_socket(), Wire::no_socket);
    EXPECT_TRUE(receive());
    EXPECT_EQ(send(std::byte{8}, 60'000), Sent::yes);
    while (receive()) {
    }
    EXPECT_EQ(received.size(), sent + 1);
}

TEST_F(TwoProcesses, UseMemoryOnlyForReliableQueuePairsOfThatProcess) {
    ASSERT_TRUE(a && b);
    ASSERT_TRUE(reaches_in_memory({loopback, loopback, 1}));
    EXPECT_TRUE(a->origin({loopback, loopback, 1}, number()).in_memory);
    const std::uint32_t other = first_number(a->slot());
    EXPECT_FALSE(a->origin({loopback, loopback, 1}, other).in_memory);
    EXPECT_FALSE(a->origin({loopback, loopback, 1}, 0).in_memory);
}

}  // namespace
}  // namespace lanewise::verbs::port
