// SPDX-License-Identifier: BSD-3-Clause
//
// A message whose acknowledgement is lost, and a receiver that does not wait for the sender to
// learn that all has arrived.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr Nanoseconds time_wait_ns = 5'000'000;
constexpr DeviceConfig waiting{.port_count = 2, .probe_ns = 500'000, .time_wait_ns = time_wait_ns};
const auto succeeded = Field(&Completion::status, Status::success);
const auto failed = Field(&Completion::status, Status::retry_exceeded);

// a has sent one message to b, which has received it; so many acknowledgements are lost.
struct LastMessage {
    explicit LastMessage(int lost, const DeviceConfig& config = waiting,
                         const Options& options = {})
        : pair(options, config), losing(lost) {
        pair.wire.tap = [this](std::size_t sender, std::vector<std::byte>& bytes) {
            const bool acknowledges = decode(bytes).packet->row.kind == PacketKind::acknowledge;
            return sender != 1 || !acknowledges || losing-- <= 0;
        };
        pair.b.post_receive(1, 0, 100);
        pair.a.post_send(1, 0, 100);
        EXPECT_TRUE(pair.wire.run_until([&] { return pair.b.receive_queue->size() > 0; }));
        pair.wire.run_for(20'000);  // its acknowledgement has been sent, and lost
    }
    std::vector<Completion> outcome() {
        pair.wire.run_until(idle);
        return pair.a.sends();
    }
    void destroy() { pair.b.device->destroy(pair.b.queue_pair); }

    Pair pair;
    int losing;
};

TEST(TimeWait, AcknowledgesAgainWhatADestroyedQueuePairReceived) {
    LastMessage last(3);

    last.destroy();

    EXPECT_THAT(last.outcome(), ElementsAre(succeeded));
    EXPECT_EQ(last.losing, -1);
}

TEST(TimeWait, AcknowledgesAgainWhatAQueuePairInErrorReceived) {
    LastMessage last(3);

    last.pair.b.modify_state(State::error);

    EXPECT_THAT(last.outcome(), ElementsAre(succeeded));
}

TEST(TimeWait, IsNotEnteredByADeviceThatDoesNotWait) {
    LastMessage last(1, {.port_count = 2, .probe_ns = 500'000});

    last.destroy();

    EXPECT_THAT(last.outcome(), ElementsAre(failed));
}

TEST(TimeWait, AcknowledgesNothingThatHasNotBeenReceived) {
    LastMessage last(0);
    last.pair.wire.run_until(idle);
    last.pair.a.sends();
    last.destroy();
    const auto before = last.pair.b.device->counters(1).packets_sent;

    last.pair.a.post_send(2, 0, 100);

    EXPECT_THAT(last.outcome(), ElementsAre(failed));
    EXPECT_EQ(last.pair.b.device->counters(1).packets_sent, before);
}

// A request that is refused was not executed.
TEST(TimeWait, IsNotEnteredByAQueuePairThatFailed) {
    LastMessage last(0);
    last.pair.wire.run_until(idle);
    last.pair.a.sends();
    last.pair.a.post(Operation::write, 2, last.pair.a.slice(0, 8), last.pair.b, 1 << 30);
    last.pair.wire.run_until([&] { return last.pair.b.queue_pair->state() == State::error; });

    last.destroy();

    EXPECT_EQ(last.pair.b.device->time_wait_ends_at(), 0);
}

// With the numbers of before, the first request of a connection looks like one that is repeated.
TEST(TimeWait, EndsWhereTheQueuePairIsUsedForAnotherConnection) {
    LastMessage last(1);
    last.pair.b.modify_state(State::error);
    last.pair.b.modify_state(State::reset);
    last.pair.a.modify_state(State::reset);
    connect(last.pair.a);
    last.pair.a.sends();

    last.pair.a.post_send(2, 0, 100);

    EXPECT_THAT(last.outcome(), ElementsAre(failed));
}

TEST(TimeWait, AcknowledgesAgainOnThePathThatThePeerHasMovedTo) {
    Pair pair({}, waiting);
    ASSERT_EQ(pair.a.rearm(), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    pair.b.post_receive(1, 0, 100);
    pair.b.post_receive(2, 0, 100);
    pair.a.post_send(1, 0, 100);
    pair.wire.run_until(idle);  // armed by then
    pair.a.sends();
    pair.b.receives();
    pair.wire.tap = [](std::size_t sender, std::vector<std::byte>& bytes) {
        return sender != 1 || decode(bytes).packet->row.kind != PacketKind::acknowledge;
    };
    pair.a.post_send(2, 0, 100);
    ASSERT_TRUE(pair.wire.run_until([&] { return pair.b.receive_queue->size() > 0; }));
    pair.wire.run_for(20'000);
    pair.b.device->destroy(pair.b.queue_pair);
    pair.wire.tap = {};

    ASSERT_EQ(pair.a.migrate(), 0);
    pair.wire.run_until(idle);

    EXPECT_THAT(pair.a.sends(), ElementsAre(succeeded));
}

TEST(TimeWait, AcknowledgesNothingToOthers) {
    LastMessage last(1);
    last.destroy();
    std::vector<std::byte> request;
    last.pair.wire.tap = [&](std::size_t sender, std::vector<std::byte>& bytes) {
        if (sender == 0) request = bytes;
        return sender == 1;
    };
    last.pair.wire.run_until([&] { return !request.empty(); });
    const AddressVector path = last.pair.a.vector(1);
    const Arrival of_peer{.source_udp_port = path.source_udp_port,
                          .source = path.source,
                          .destination = path.destination};
    const auto answers = [&](const std::vector<std::byte>& packet, const Arrival& from) {
        const auto before = last.pair.b.device->counters(1).packets_sent;
        last.pair.wire.deliver(1, packet, from);
        last.pair.wire.run_for(1000);
        return last.pair.b.device->counters(1).packets_sent - before;
    };
    Arrival of_another = of_peer;
    of_another.source[15] ^= 1;
    std::vector<std::byte> damaged = request;
    damaged.back() ^= std::byte{1};

    EXPECT_EQ(answers(request, of_another), 0u);
    EXPECT_EQ(answers(damaged, of_peer), 0u);
    EXPECT_EQ(answers(request, of_peer), 1u);
}

TEST(TimeWait, EndsWithTheTime) {
    LastMessage last(1);

    EXPECT_EQ(last.pair.b.device->time_wait_ends_at() / 1'000'000,
              (last.pair.wire.now() + time_wait_ns) / 1'000'000);
    last.destroy();
    last.pair.wire.tap = [](std::size_t sender, std::vector<std::byte>&) { return sender != 0; };
    last.pair.wire.run_for(time_wait_ns);
    last.pair.wire.tap = {};

    EXPECT_THAT(last.outcome(), ElementsAre(failed));
    EXPECT_LT(last.pair.b.device->time_wait_ends_at(), last.pair.wire.now());
}

TEST(TimeWait, EndsWhereTheNumberIsTakenAgain) {
    LastMessage last(1);
    last.destroy();

    last.pair.b.device->create_queue_pair({.number = first_qpn + 1,
                                           .send_queue = last.pair.b.send_queue,
                                           .receive_queue = last.pair.b.receive_queue});

    EXPECT_EQ(last.pair.b.device->time_wait_ends_at(), 0);
}

}  // namespace
}  // namespace lanewise::verbs::testing
