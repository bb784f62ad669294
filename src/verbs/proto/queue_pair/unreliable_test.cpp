// SPDX-License-Identifier: BSD-3-Clause
//
// Unreliable connections and datagrams: a message arrives whole or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each message carries its number in every word.
void write_numbers(Peer& peer, std::size_t message, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 4) {
        const auto number = static_cast<std::uint32_t>(message);
        std::memcpy(peer.memory.data() + message * bytes + at, &number, 4);
    }
}

TEST(UnreliableConnection, DeliversEveryMessageWholeOrNotAtAllAndNoneTwice) {
    constexpr std::size_t bytes = 4000;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        Pair pair({.transport = Transport::uc}, {.port_count = 2}, seed);
        pair.wire.path(1) = {.loss = 0.05, .duplicate = 0.05, .reorder = 0.02, .corrupt = 0.02};
        for (std::uint64_t i = 0; i < 200; ++i) {
            pair.b.post_receive(i, i * bytes, bytes);
        }
        for (std::size_t i = 0; i < 200; ++i) {
            write_numbers(pair.a, i, bytes);
            ASSERT_EQ(pair.a.post_send(i, i * bytes, bytes), 0);
            pair.wire.run_for(1000);
        }
        pair.wire.run_until(idle);

        EXPECT_EQ(pair.a.sends().size(), 200u);
        std::int64_t last = -1;
        const auto received = pair.b.receives();
        EXPECT_LT(received.size(), 200u);
        EXPECT_GT(received.size(), 50u);
        for (const Completion& got : received) {
            std::uint32_t words[bytes / 4];
            std::memcpy(words, pair.b.memory.data() + got.id * bytes, bytes);
            ASSERT_EQ(got.length_bytes, bytes);
            ASSERT_GT(words[0], last);
            ASSERT_EQ(std::count(words, words + bytes / 4, words[0]), bytes / 4);
            last = words[0];
        }
    }
}

TEST(UnreliableConnection, DropsWhatNoBufferWaitsFor) {
    Pair pair({.transport = Transport::uc});
    pair.a.post_send(1, 0, 10);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_EQ(pair.b.queue_pair->counters().dropped, 1u);
    EXPECT_EQ(pair.b.queue_pair->state(), State::ready_to_send);
}

TEST(UnreliableConnection, CountsAGapOnceAndDeliversWhatFollows) {
    Pair pair({.transport = Transport::uc});
    pair.wire.tap = [sent = 0](std::size_t, std::vector<std::byte>&) mutable {
        return ++sent != 2;
    };
    for (std::uint64_t i = 0; i < 3; ++i) {
        pair.b.post_receive(i, i * 16, 16);
        pair.a.post_send(i, i * 16, 16);
    }
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.b.receives().size(), 2u);
    EXPECT_EQ(pair.b.queue_pair->counters().out_of_order, 1u);
    EXPECT_EQ(pair.b.queue_pair->counters().duplicates, 0u);
}

TEST(UnreliableConnection, DeliversAMessageWhoseLastPacketHoldsOneByte) {
    Pair pair({.transport = Transport::uc, .mtu = Mtu::b256});
    pair.b.post_receive(1, 0, 300);
    pair.a.post_send(1, 0, 257);
    pair.wire.run_until(idle);

    ASSERT_EQ(pair.b.receives().size(), 1u);
}

TEST(UnreliableConnection, HasNoReads) {
    Pair pair({.transport = Transport::uc});
    EXPECT_EQ(pair.a.post(Operation::read, 1, pair.a.slice(0, 10), pair.b, 0), EINVAL);
    EXPECT_EQ(pair.a.post(Operation::fetch_add, 1, pair.a.slice(0, 8), pair.b, 0), EINVAL);
}

struct Datagrams : ::testing::Test {
    Pair pair{{.transport = Transport::ud}};

    int send(std::uint32_t qkey, std::size_t bytes, std::uint32_t flags = 0) {
        const Slice slice = pair.a.slice(0, bytes);
        const AddressVector address = pair.a.vector(2);
        return pair.a.queue_pair->post_send({.id = 1,
                                             .operation = Operation::send_immediate,
                                             .flags = flags,
                                             .immediate = 0xabcd,
                                             .slices = {&slice, 1},
                                             .address = &address,
                                             .remote_qpn = pair.b.queue_pair->number(),
                                             .remote_qkey = qkey});
    }

    // Datagrams go to the port that a queue pair was made for.
    void SetUp() override {
        for (Peer *peer : {&pair.a, &pair.b}) {
            peer->modify_state(State::reset);
            Attributes wanted = peer->attributes();
            wanted.port = 2;
            wanted.state = State::init;
            peer->queue_pair->modify(wanted, init_mask - access_attribute + qkey_attribute);
            wanted.state = State::ready_to_receive;
            peer->queue_pair->modify(wanted, state_attribute);
            wanted.state = State::ready_to_send;
            peer->queue_pair->modify(wanted, uc_send_mask);
        }
    }
};

TEST_F(Datagrams, ArriveBehindARouteHeaderThatNamesTheSender) {
    pair.b.post_receive(5, 0, 140);
    pair.a.memory[0] = std::byte{42};
    ASSERT_EQ(send(0x1234, 100), 0);
    pair.wire.run_until(idle);

    const auto received = pair.b.receives();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].length_bytes, 140u);
    EXPECT_TRUE(received[0].has_grh);
    EXPECT_TRUE(received[0].has_immediate);
    EXPECT_EQ(received[0].immediate, 0xabcdu);
    EXPECT_EQ(received[0].source_qpn, pair.a.queue_pair->number());
    EXPECT_EQ(pair.b.memory[40], std::byte{42});
    EXPECT_EQ(pair.b.memory[20], std::byte{0x45});
    const Address source = address_of(Family::ipv4, 0, 2);
    EXPECT_EQ(std::memcmp(pair.b.memory.data() + 32, source.data() + 12, 4), 0);
}

TEST_F(Datagrams, ArriveBehindAHeaderOfIpv4WhoseChecksumHolds) {
    pair.b.post_receive(5, 0, 140);
    ASSERT_EQ(send(0x1234, 100), 0);
    pair.wire.run_until(idle);

    std::uint32_t sum = 0;
    for (std::size_t at = 20; at < 40; at += 2) {
        sum += std::to_integer<std::uint32_t>(pair.b.memory[at]) << 8 |
               std::to_integer<std::uint32_t>(pair.b.memory[at + 1]);
    }
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
    EXPECT_EQ(pair.b.memory[28], std::byte{64});  // hops
    EXPECT_EQ(pair.b.memory[29], std::byte{17});  // UDP
}

TEST_F(Datagrams, WithTheWrongQueueKeyAreDroppedAndCounted) {
    pair.b.post_receive(5, 0, 140);
    ASSERT_EQ(send(0x1235, 100), 0);
    pair.wire.run_until(idle);

    EXPECT_THAT(pair.b.receives(), IsEmpty());
    EXPECT_EQ(pair.b.device->counters(2).qkey_violations, 1u);
}

TEST_F(Datagrams, WithTheHighestKeyBitSetCarryTheKeyOfTheQueuePair) {
    pair.b.post_receive(5, 0, 140);
    ASSERT_EQ(send(0x80000000, 100), 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.b.receives().size(), 1u);
}

TEST_F(Datagrams, TooLongForTheBufferLeaveItToTheNext) {
    pair.b.post_receive(5, 0, 140);
    ASSERT_EQ(send(0x1234, 101), 0);
    ASSERT_EQ(send(0x1234, 10), 0);
    pair.wire.run_until(idle);

    const auto received = pair.b.receives();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].length_bytes, 50u);
}

TEST_F(Datagrams, LongerThanTheMtuAreRefused) {
    EXPECT_EQ(send(0x1234, 4097), EINVAL);
    EXPECT_EQ(send(0x1234, 4096), 0);
}

TEST_F(Datagrams, OfForbiddenMemoryStopTheSendQueueUntilItIsRestarted) {
    const Slice wrong{pair.a.address(0), 10, pair.a.key + 3};
    const AddressVector address = pair.a.vector(2);
    SendRequest request{.slices = {&wrong, 1}, .address = &address};
    ASSERT_EQ(pair.a.queue_pair->post_send(request), 0);
    pair.wire.run_until(idle);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::local_protection_error);
    EXPECT_EQ(pair.a.queue_pair->state(), State::send_queue_error);
    send(0x1234, 10);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::flushed);

    ASSERT_EQ(pair.a.modify_state(State::ready_to_send), 0);
    pair.b.post_receive(5, 0, 140);
    send(0x1234, 10);
    pair.wire.run_until(idle);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_EQ(pair.b.receives().size(), 1u);
}

TEST_F(Datagrams, OfForbiddenMemoryFailTheQueuePairWhereTheirCompletionDoesNotFit) {
    ASSERT_EQ(pair.a.send_queue->resize(1), 0);
    pair.a.post_receive(7, 0, 140);
    send(0x1234, 10);
    const Slice wrong{pair.a.address(0), 10, pair.a.key + 3};
    const AddressVector address = pair.a.vector(2);
    pair.a.queue_pair->post_send({.slices = {&wrong, 1}, .address = &address});
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.queue_pair->state(), State::error);
    EXPECT_THAT(pair.a.events(), ElementsAre(EventKind::cq_error, EventKind::qp_fatal));
    EXPECT_EQ(pair.a.receives().at(0).status, Status::flushed);
}

}  // namespace
}  // namespace lanewise::verbs::testing
