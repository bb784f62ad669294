// SPDX-License-Identifier: BSD-3-Clause
//
// Extended connections (XRC): an initiator, and a target that receives into queues which others
// share and packets name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "verbs/proto/queue_pair/transitions.hpp"
#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/icrc.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Options extended{.transport = Transport::xrc, .requests_max = 64};

Status only_send(Peer& peer) {
    const auto done = peer.sends();
    return done.size() == 1 ? done[0].status : Status::general_error;
}

int send_to(Peer& peer, std::uint32_t srqn, std::size_t bytes) {
    const Slice local = peer.slice(0, bytes);
    return peer.queue_pair->post_send({.slices = {&local, 1}, .remote_srqn = srqn});
}

SharedReceiveQueue *make_queue(Peer& peer, const ExtendedReceive& as, ProtectionDomain domain) {
    return peer.device->create_extended_receive_queue(as, domain, 16, 4, nullptr);
}

TEST(Extended, EveryOperationDoesWhatItDoesOnAReliableConnection) {
    Pair pair(extended);
    for (std::size_t i = 0; i < 20'000; ++i) pair.a.memory[i] = static_cast<std::byte>(i * 7);
    pair.b.post_receive(1, 100'000, 20'000);
    pair.b.post_receive(2, 0, 0);

    pair.a.post_send(10, 0, 20'000);
    pair.a.post(Operation::write_immediate, 11, pair.a.slice(0, 5000), pair.b, 200'000);
    pair.a.post(Operation::read, 12, pair.a.slice(300'000, 5000), pair.b, 200'000);
    pair.a.post(Operation::fetch_add, 13, pair.a.slice(400'000, 8), pair.b, 400'000, 3);
    pair.wire.run_until(idle);

    EXPECT_THAT(pair.a.sends(),
                AllOf(SizeIs(4), Each(Field(&Completion::status, Status::success))));
    const auto received = pair.b.receives();
    ASSERT_EQ(received.size(), 2u);
    EXPECT_EQ(received[0].length_bytes, 20'000u);
    EXPECT_EQ(received[1].immediate, 11u);
    EXPECT_EQ(std::memcmp(&pair.b.memory[100'000], &pair.a.memory[0], 20'000), 0);
    EXPECT_EQ(std::memcmp(&pair.b.memory[200'000], &pair.a.memory[0], 5000), 0);
    EXPECT_EQ(std::memcmp(&pair.a.memory[300'000], &pair.a.memory[0], 5000), 0);
    EXPECT_EQ(pair.b.memory[400'000], std::byte{3});
}

TEST(Extended, MessagesArriveInOrderOverAWireThatLosesThem) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Pair pair(extended, {.port_count = 2}, seed);
        pair.wire.all_paths({.loss = 0.1, .duplicate = 0.1, .reorder = 0.1});
        for (std::uint64_t i = 0; i < 30; ++i) {
            const std::size_t bytes = 100 * i + 1;
            pair.a.memory[5000 * i] = static_cast<std::byte>(i + 1);
            pair.b.post_receive(i, 5000 * i, 5000);
            pair.a.post_send(i, 5000 * i, bytes);
        }
        pair.wire.run_until(idle);

        const auto received = pair.b.receives();
        ASSERT_EQ(received.size(), 30u) << seed;
        for (std::uint64_t i = 0; i < 30; ++i) {
            ASSERT_EQ(received[i].id, i);
            ASSERT_EQ(received[i].length_bytes, 100 * i + 1);
            ASSERT_EQ(pair.b.memory[5000 * i], static_cast<std::byte>(i + 1));
        }
    }
}

TEST(Extended, AMessageLandsInTheQueueThatItNames) {
    Pair pair(extended);
    CompletionQueue *of_other = pair.b.device->create_completion_queue(8, nullptr);
    SharedReceiveQueue *other = make_queue(pair.b, {0x99, shared_xrc_domain, of_other}, 1);
    const Slice place = pair.b.slice(0, 100);
    other->post({5, {&place, 1}});
    pair.b.post_receive(6, 0, 100);

    send_to(pair.a, 0x99, 100);
    pair.wire.run_until(idle);

    Completion received[2];
    ASSERT_EQ(of_other->poll(received), 1u);
    EXPECT_EQ(received[0].id, 5u);
    EXPECT_EQ(received[0].qpn, pair.b.queue_pair->number());
    EXPECT_THAT(pair.b.receives(), IsEmpty());
    EXPECT_EQ(pair.b.device->destroy(of_other), EBUSY);
    EXPECT_EQ(pair.b.device->destroy(other), 0);
    EXPECT_EQ(pair.b.device->destroy(of_other), 0);
}

TEST(Extended, AQueueThatIsNotThereOrOfAnotherDomainIsAnInvalidRequest) {
    for (const std::uint32_t named : {0u, first_srqn + 1, 0x99u}) {
        Pair pair(extended);
        make_queue(pair.b, {0x99, shared_xrc_domain + 1, pair.b.receive_queue}, 1);
        send_to(pair.a, named, 100);
        pair.wire.run_until(idle);

        EXPECT_EQ(only_send(pair.a), Status::remote_invalid_request);
        EXPECT_THAT(pair.b.receives(), IsEmpty());
    }
}

TEST(Extended, ANumberIsThatOfOneQueue) {
    Pair pair(extended);

    EXPECT_EQ(make_queue(pair.b, {first_srqn, 1, pair.b.receive_queue}, 1), nullptr);
    EXPECT_EQ(errno, EEXIST);
}

TEST(Extended, MemoryIsThatOfTheDomainOfTheQueue) {
    Pair pair(extended);
    make_queue(pair.b, {0x99, shared_xrc_domain, pair.b.receive_queue}, 2);
    const Slice local = pair.a.slice(0, 8);
    pair.a.queue_pair->post_send({.operation = Operation::write,
                                  .slices = {&local, 1},
                                  .remote_address = pair.b.address(0),
                                  .rkey = pair.b.key,
                                  .remote_srqn = 0x99});
    pair.wire.run_until(idle);

    EXPECT_EQ(only_send(pair.a), Status::remote_access_error);
}

TEST(Extended, AMessageStaysWithTheQueueThatItBeganWith) {
    constexpr std::byte send_middle{0xa1};
    Pair pair(extended);
    make_queue(pair.b, {0x99, shared_xrc_domain, pair.b.receive_queue}, 1);
    pair.b.post_receive(1, 0, 5000);
    pair.wire.tap = [&](std::size_t, std::vector<std::byte>& bytes) {
        if (bytes[0] != send_middle) return true;
        bytes[bth_bytes + 3] = std::byte{0x99};
        Arrival from{.port = 1, .source_udp_port = 0xc000, .ip_id = 0};
        from.source = address_of(Family::ipv4, 0, 1);
        from.destination = address_of(Family::ipv4, 1, 1);
        seal(bytes, {from.source, from.destination, from.source_udp_port}, 0);
        pair.wire.deliver(1, bytes, from);
        return false;
    };
    pair.a.post_send(1, 0, 3000);
    pair.wire.run_until(idle);

    EXPECT_EQ(only_send(pair.a), Status::remote_invalid_request);
    EXPECT_THAT(pair.b.receives(), ElementsAre(Field(&Completion::status, Status::flushed)));
}

TEST(Extended, AQueueMayGoWhileAMessageIsReceivedIntoIt) {
    Pair pair(extended, {.port_count = 2, .window_bytes = 4096});
    pair.b.post_receive(1, 0, 100'000);
    pair.a.post_send(1, 0, 100'000);
    pair.wire.run_for(20'000);

    EXPECT_EQ(pair.b.device->destroy(pair.b.shared), 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(only_send(pair.a), Status::remote_invalid_request);
    EXPECT_THAT(pair.b.receives(), IsEmpty());
}

TEST(Extended, AMessageWaitsForAReceive) {
    Pair pair(extended);
    pair.a.post_send(1, 0, 100);
    pair.wire.run_for(20'000);
    EXPECT_THAT(pair.a.sends(), IsEmpty());

    pair.b.post_receive(1, 0, 100);
    pair.wire.run_until(idle);

    EXPECT_EQ(only_send(pair.a), Status::success);
}

TEST(Extended, EachSideDoesItsPartOnly) {
    Pair pair(extended);
    const Slice place = pair.a.slice(0, 8);

    EXPECT_EQ(pair.b.post_send(1, 0, 8), EINVAL);
    EXPECT_EQ(pair.b.queue_pair->post_receive({1, {&place, 1}}), EINVAL);
    EXPECT_EQ(pair.a.queue_pair->post_receive({1, {&place, 1}}), EINVAL);
}

TEST(Extended, AnInitiatorTakesNoRequests) {
    Pair pair(extended);
    Packet forged;
    forged.base = {
        .opcode = opcode_of(Transport::xrc, PacketKind::write, Part::only, Extra::nothing),
        .destination_qpn = pair.a.queue_pair->number(),
        .psn = Psn(pair.b.options.send_psn[1])};
    forged.row = opcode_row(forged.base.opcode);
    forged.rdma = {pair.a.address(0), pair.a.key, 0};
    std::vector<std::byte> bytes(datagram_bytes(forged.row, 0));
    encode_headers(forged, bytes);
    Arrival from{.port = 1, .source_udp_port = 0xc001};
    from.source = address_of(Family::ipv4, 1, 1);
    from.destination = address_of(Family::ipv4, 0, 1);
    seal(bytes, {from.source, from.destination, from.source_udp_port}, 0);

    pair.wire.deliver(0, bytes, from);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.queue_pair->counters().dropped, 1u);
    EXPECT_EQ(pair.a.queue_pair->counters().packets_received, 0u);
}

TEST(Extended, AQueuePairHasTheQueuesOfItsSide) {
    Pair pair(extended);
    Device& device = *pair.a.device;
    const auto make = [&](Role role, CompletionQueue *sends) {
        return device.create_queue_pair(
            {.transport = Transport::xrc, .number = 0x500, .role = role, .send_queue = sends});
    };

    EXPECT_EQ(make(Role::both, pair.a.send_queue), nullptr);
    EXPECT_EQ(make(Role::initiator, nullptr), nullptr);
    EXPECT_EQ(make(Role::target, pair.a.send_queue), nullptr);
    QueuePair *made = make(Role::target, nullptr);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(device.destroy(made), 0);
}

TEST(Extended, EachSideTakesTheAttributesThatItHas) {
    const auto to_receive = [](Role role, std::uint32_t mask) {
        return may_change(Transport::xrc, role, State::init, State::ready_to_receive, mask);
    };
    const auto to_send = [](Role role, std::uint32_t mask) {
        return may_change(Transport::xrc, role, State::ready_to_receive, State::ready_to_send,
                          mask);
    };

    EXPECT_TRUE(to_receive(Role::initiator, uc_receive_mask));
    EXPECT_FALSE(to_receive(Role::initiator, rc_receive_mask));
    EXPECT_TRUE(to_receive(Role::target, rc_receive_mask));
    EXPECT_FALSE(to_receive(Role::target, uc_receive_mask));
    EXPECT_TRUE(to_send(Role::initiator, rc_send_mask));
    EXPECT_FALSE(to_send(Role::initiator, target_send_mask));
    EXPECT_TRUE(to_send(Role::target, target_send_mask));
    EXPECT_FALSE(to_send(Role::target, rc_send_mask));
}

}  // namespace
}  // namespace lanewise::verbs::testing
