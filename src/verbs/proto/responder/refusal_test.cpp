// SPDX-License-Identifier: BSD-3-Clause
//
// What the responder refuses, and how both queue pairs report it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Status> statuses(const std::vector<Completion>& completions) {
    std::vector<Status> all;
    for (const Completion& completion : completions) {
        all.push_back(completion.status);
    }
    return all;
}

// Posts a good write, the request, and another write behind it; the middle one is to be refused.
void post_between(Pair& pair, Operation operation, std::uint64_t remote, std::uint32_t rkey,
                  std::size_t bytes) {
    const Slice local = pair.a.slice(0, bytes);
    pair.a.post(Operation::write, 1, pair.a.slice(0, 10), pair.b, 0);
    ASSERT_EQ(pair.a.queue_pair->post_send({.id = 2,
                                            .operation = operation,
                                            .slices = {&local, 1},
                                            .remote_address = remote,
                                            .rkey = rkey}),
              0);
    pair.a.post(Operation::write, 3, pair.a.slice(0, 10), pair.b, 0);
    pair.wire.run_until(idle);
}

class RemoteRefusal : public ::testing::TestWithParam<Operation> {};

TEST_P(RemoteRefusal, OfAWrongKeyFailsTheRequestAndFlushesTheRest) {
    Pair pair;
    post_between(pair, GetParam(), pair.b.address(0), pair.b.key + 1, 8);

    EXPECT_THAT(statuses(pair.a.sends()),
                ElementsAre(Status::success, Status::remote_access_error, Status::flushed));
    EXPECT_EQ(pair.a.queue_pair->state(), State::error);
    EXPECT_EQ(pair.b.queue_pair->state(), State::error);
    EXPECT_THAT(pair.b.events(), Contains(EventKind::qp_access_error));
}

TEST_P(RemoteRefusal, OfARangeThatLeavesTheRegionTouchesNothing) {
    Pair pair({.memory_bytes = 65536});
    post_between(pair, GetParam(), pair.b.address(65536 - 7), pair.b.key, 8);

    EXPECT_THAT(statuses(pair.a.sends()),
                ElementsAre(Status::success, Status::remote_access_error, Status::flushed));
}

TEST_P(RemoteRefusal, OfWhatTheQueuePairDoesNotPermitIsAnInvalidRequest) {
    Pair pair;
    Attributes none;
    none.access = remote_write * (GetParam() != Operation::write);
    ASSERT_EQ(pair.b.queue_pair->modify(none, access_attribute), 0);
    const Slice local = pair.a.slice(0, 8);
    pair.a.queue_pair->post_send({.id = 2,
                                  .operation = GetParam(),
                                  .slices = {&local, 1},
                                  .remote_address = pair.b.address(0),
                                  .rkey = pair.b.key});
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()), ElementsAre(Status::remote_invalid_request));
    EXPECT_THAT(pair.b.events(), Contains(EventKind::qp_request_error));
}

INSTANTIATE_TEST_SUITE_P(EveryRemoteOperation, RemoteRefusal,
                         ::testing::Values(Operation::write, Operation::read,
                                           Operation::compare_swap, Operation::fetch_add));

TEST(Refusal, OfAMisalignedAtomicIsAnInvalidRequest) {
    Pair pair;
    post_between(pair, Operation::fetch_add, pair.b.address(4), pair.b.key, 8);

    EXPECT_THAT(statuses(pair.a.sends()),
                ElementsAre(Status::success, Status::remote_invalid_request, Status::flushed));
}

TEST(Refusal, OfAMessageLongerThanItsBufferIsReportedOnBothSides) {
    Pair pair;
    pair.b.post_receive(7, 0, 2999);
    pair.b.post_receive(8, 0, 10);
    pair.a.post_send(1, 0, 3000);
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()), ElementsAre(Status::remote_invalid_request));
    EXPECT_THAT(statuses(pair.b.receives()),
                ElementsAre(Status::local_length_error, Status::flushed));
}

constexpr DeviceConfig of_short_messages{.port_count = 2, .message_bytes_max = 4096};

TEST(Refusal, OfAMessageLongerThanTheLargestIsImmediate) {
    Pair pair({}, of_short_messages);
    for (const Operation operation : {Operation::write, Operation::read}) {
        EXPECT_EQ(pair.a.post(operation, 1, pair.a.slice(0, 4096), pair.b, 0), 0);
        EXPECT_EQ(pair.a.post(operation, 2, pair.a.slice(0, 4097), pair.b, 0), EINVAL);
    }
    pair.b.post_receive(5, 0, 8192);
    EXPECT_EQ(pair.a.post_send(1, 0, 4096), 0);
    EXPECT_EQ(pair.a.post_send(2, 0, 4097), EINVAL);
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()),
                ElementsAre(Status::success, Status::success, Status::success));
}

// Makes one message of all that are sent.
bool join(std::size_t from, std::vector<std::byte>& bytes) {
    const auto packet = decode(bytes).packet;
    const bool is_first = packet->base.psn == Psn(Options{}.send_psn[0]);
    if (from != 0 || packet->row.kind != PacketKind::send || is_first) return true;
    bytes[0] = static_cast<std::byte>(
        opcode_of(Transport::rc, PacketKind::send, Part::middle, Extra::nothing));
    const Address source = address_of(Family::ipv6, 0, 1);
    seal(bytes, {source, address_of(Family::ipv6, 1, 1), 0xc000}, 0);
    return true;
}

TEST(Refusal, OfASendLongerThanTheLargestMessageIsAnInvalidRequest) {
    Pair pair({.family = Family::ipv6}, of_short_messages);
    pair.wire.tap = join;
    for (std::uint64_t id = 1; id <= 2; ++id) {
        pair.b.post_receive(id, 0, 100'000);
        pair.a.post_send(id, 0, 4096);
    }
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()),
                ElementsAre(Status::success, Status::remote_invalid_request));
    EXPECT_THAT(statuses(pair.b.receives()), ElementsAre(Status::flushed, Status::flushed));
    EXPECT_THAT(pair.b.events(), Contains(EventKind::qp_request_error));
}

TEST(Refusal, OfAReceiveBufferThatMayNotBeWrittenIsReportedOnBothSides) {
    Pair pair;
    const Slice wrong{pair.b.address(0), 100, pair.b.key + 5};
    pair.b.queue_pair->post_receive({1, {&wrong, 1}});
    pair.a.post_send(1, 0, 100);
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()), ElementsAre(Status::remote_operation_error));
    EXPECT_THAT(statuses(pair.b.receives()), ElementsAre(Status::local_protection_error));
}

TEST(Refusal, OfOnesOwnMemoryComesAfterTheSuccessesBeforeIt) {
    Pair pair;
    const Slice wrong{pair.a.address(0), 100, pair.a.key + 5};
    pair.a.post(Operation::write, 1, pair.a.slice(0, 50'000), pair.b, 0);
    pair.a.queue_pair->post_send({.id = 2,
                                  .operation = Operation::write,
                                  .slices = {&wrong, 1},
                                  .remote_address = pair.b.address(0),
                                  .rkey = pair.b.key});
    pair.a.post(Operation::write, 3, pair.a.slice(0, 10), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()),
                ElementsAre(Status::success, Status::local_protection_error, Status::flushed));
    EXPECT_EQ(pair.b.queue_pair->state(), State::ready_to_send);
}

TEST(Refusal, OfARegionTakenBackWhileItIsReadComesInTheMiddle) {
    Pair pair;
    pair.a.post(Operation::read, 1, pair.a.slice(0, 900'000), pair.b, 0);
    pair.wire.run_for(12'000);
    pair.b.device->memory().remove(pair.b.key);
    pair.wire.run_until(idle);

    EXPECT_THAT(statuses(pair.a.sends()), ElementsAre(Status::remote_access_error));
}

TEST(Refusal, OfMoreReadsThanAgreedIsAnInvalidRequest) {
    Wire wire({.port_count = 2}, 1);
    Peer a = make_peer(wire, 0, {.read_atomic = 4});
    Peer b = make_peer(wire, 1, {.read_atomic = 1});
    connect(a);
    connect(b);
    for (std::uint64_t i = 0; i < 4; ++i) {
        a.post(Operation::read, i, a.slice(0, 5000), b, 0);
    }
    wire.run_until(idle);

    EXPECT_THAT(statuses(a.sends()), Contains(Status::remote_invalid_request));
}

TEST(Flush, CompletesEverythingOnBothQueuesInOrder) {
    Pair pair;
    pair.wire.path(1).cut = true;
    for (std::uint64_t i = 0; i < 5; ++i) {
        pair.a.post_send(i, 0, 10);
        pair.a.post_receive(10 + i, 0, 10);
    }
    EXPECT_EQ(pair.a.modify_state(State::error), 0);
    pair.a.post_send(5, 0, 10);
    pair.a.post_receive(15, 0, 10);

    const auto sends = pair.a.sends();
    const auto receives = pair.a.receives();
    ASSERT_EQ(sends.size(), 6u);
    ASSERT_EQ(receives.size(), 6u);
    for (std::uint64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(sends[i].id, i);
        EXPECT_EQ(sends[i].status, Status::flushed);
        EXPECT_EQ(receives[i].id, 10 + i);
        EXPECT_EQ(receives[i].status, Status::flushed);
    }
}

TEST(Flush, OfAQueuePairWithASharedQueueReportsThatTheLastIsReached) {
    Pair pair({.shared_receive_queue = true});
    pair.b.post_receive(1, 0, 10);
    pair.b.modify_state(State::error);

    EXPECT_THAT(pair.b.events(), ElementsAre(EventKind::last_request_reached));
    EXPECT_THAT(pair.b.receives(), IsEmpty());
}

TEST(Posting, RefusesWhatTheManualRefuses) {
    Pair pair({.requests_max = 4});
    const Slice slice = pair.a.slice(0, 8);
    const std::vector<Slice> many(5, slice);
    QueuePair& queue_pair = *pair.a.queue_pair;
    SendRequest request{.operation = Operation::write, .slices = many};
    EXPECT_EQ(queue_pair.post_send(request), EINVAL);
    request = {.operation = static_cast<Operation>(99), .slices = {&slice, 1}};
    EXPECT_EQ(queue_pair.post_send(request), EINVAL);
    const Slice large = pair.a.slice(0, 257);
    request = {.flags = inline_data, .slices = {&large, 1}};
    EXPECT_EQ(queue_pair.post_send(request), EINVAL);
    request = {.operation = Operation::read, .flags = inline_data, .slices = {&slice, 1}};
    EXPECT_EQ(queue_pair.post_send(request), EINVAL);
    request = {.operation = Operation::fetch_add, .slices = {&large, 1}};
    EXPECT_EQ(queue_pair.post_send(request), EINVAL);

    pair.wire.path(1).cut = true;
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(pair.a.post_send(i, 0, 8), 0);
        EXPECT_EQ(pair.a.post_receive(i, 0, 8), 0);
    }
    EXPECT_EQ(pair.a.post_send(5, 0, 8), ENOMEM);
    EXPECT_EQ(pair.a.post_receive(5, 0, 8), ENOMEM);
}

}  // namespace
}  // namespace lanewise::verbs::testing
