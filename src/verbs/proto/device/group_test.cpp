// SPDX-License-Identifier: BSD-3-Clause
//
// Groups: a datagram to one reaches every member, and nobody else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::IsEmpty;

constexpr Address group{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
constexpr Address other_group{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 4};
constexpr std::uint32_t to_members = 0xffffff;

struct Groups : ::testing::Test {
    Pair pair{{.transport = Transport::ud}};
    Peer second = pair.b;  // of the same device, with a queue pair of its own

    Groups() {
        QueuePairInit init = pair.b.queue_pair->init();
        init.number = 0x99;
        second.receive_queue = init.receive_queue =
            pair.b.device->create_completion_queue(16, nullptr);
        second.queue_pair = pair.b.device->create_queue_pair(init);
        connect(second);
        pair.b.post_receive(1, 0, 1040);
        const Slice slice = pair.b.slice(4096, 1040);
        second.queue_pair->post_receive({2, {&slice, 1}});
    }

    void send(const Address& to) {
        AddressVector address = pair.a.vector(1);
        address.destination = to;
        pair.a.memory[0] = std::byte{42};
        const Slice slice = pair.a.slice(0, 100);
        SendRequest request;
        request.slices = {&slice, 1};
        request.address = &address;
        request.remote_qpn = to_members;
        request.remote_qkey = pair.b.queue_pair->query().qkey;
        ASSERT_EQ(pair.a.queue_pair->post_send(request), 0);
        pair.wire.run_until(idle);
    }
};

TEST_F(Groups, EveryMemberGetsACopy) {
    ASSERT_EQ(pair.b.device->attach(pair.b.queue_pair, group), 0);
    ASSERT_EQ(pair.b.device->attach(second.queue_pair, group), 0);
    ASSERT_EQ(pair.b.device->attach(second.queue_pair, group), 0);
    send(group);
    EXPECT_EQ(pair.b.receives().size(), 1u);
    EXPECT_EQ(second.receives().size(), 1u);
    EXPECT_EQ(pair.b.memory[40], std::byte{42});
    EXPECT_EQ(pair.b.memory[4096 + 40], std::byte{42});
}

TEST_F(Groups, OthersGetNothing) {
    ASSERT_EQ(pair.b.device->attach(second.queue_pair, group), 0);
    send(other_group);
    EXPECT_THAT(second.receives(), IsEmpty());
    EXPECT_EQ(pair.b.device->counters(1).unknown_queue_pair, 1u);
    send(group);
    EXPECT_EQ(second.receives().size(), 1u);
    EXPECT_THAT(pair.b.receives(), IsEmpty());
}

TEST_F(Groups, WhoLeavesOrIsDestroyedGetsNothingMore) {
    pair.b.device->attach(pair.b.queue_pair, group);
    pair.b.device->attach(second.queue_pair, group);
    EXPECT_EQ(pair.b.device->detach(pair.b.queue_pair, group), 0);
    EXPECT_EQ(pair.b.device->detach(pair.b.queue_pair, group), EINVAL);
    EXPECT_TRUE(pair.b.device->has_members(group));
    pair.b.device->destroy(second.queue_pair);
    EXPECT_FALSE(pair.b.device->has_members(group));
    send(group);
    EXPECT_THAT(pair.b.receives(), IsEmpty());
}

TEST_F(Groups, OnlyQueuePairsForDatagramsJoinAndOnlyGroups) {
    Pair connected;
    EXPECT_EQ(connected.b.device->attach(connected.b.queue_pair, group), EINVAL);
    EXPECT_EQ(pair.b.device->attach(pair.b.queue_pair, address_of(Family::ipv4, 0, 1)), EINVAL);
}

TEST_F(Groups, ACorruptedDatagramReachesNobody) {
    pair.b.device->attach(pair.b.queue_pair, group);
    pair.wire.tap = [](std::size_t, std::vector<std::byte>& bytes) {
        bytes[30] ^= std::byte{1};
        return true;
    };
    send(group);
    EXPECT_THAT(pair.b.receives(), IsEmpty());
    EXPECT_EQ(pair.b.device->counters(1).icrc_errors, 1u);
}

}  // namespace
}  // namespace lanewise::verbs::testing
