// SPDX-License-Identifier: BSD-3-Clause
//
// Acknowledgements that nobody waits for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceConfig lazy{
    .port_count = 2, .ack_delay_ns = 20'000, .lazy_ack_ns = 200'000, .probe_ns = 500'000};
constexpr Options unsignaled{.shared_receive_queue = true, .signal_all = false};

// Two programs that exchange messages of eight bytes, and what is on the wire: from a, which of its
// messages ask for an acknowledgement, and from b, when it acknowledges.
struct Exchange {
    explicit Exchange(const Options& options = unsignaled, const DeviceConfig& config = lazy,
                      std::uint64_t receives = 200)
        : pair(options, config) {
        pair.wire.tap = [this](std::size_t sender, std::vector<std::byte>& bytes) {
            const Packet packet = *decode(bytes).packet;
            if (sender == 0 && packet.row.kind == PacketKind::send) {
                asks.push_back(packet.base.ack_request);
                return !loses;
            }
            if (sender == 1 && packet.row.kind == PacketKind::acknowledge) {
                acknowledged_at.push_back(pair.wire.now());
            }
            return true;
        };
        // A first message, which brings credits, as all later ones find them.
        for (std::uint64_t id = 0; id < receives; ++id) {
            pair.a.post_receive(id, 0, 100);
            pair.b.post_receive(id, 0, 100);
        }
        send(pair.a, signaled);
        pair.wire.run_until(idle);
        asks.clear();
        acknowledged_at.clear();
        start = pair.wire.now();
    }

    static void send(Peer& from, std::uint32_t flags = 0) {
        const Slice one = from.slice(0, 8);
        EXPECT_EQ(from.queue_pair->post_send({.flags = flags, .slices = {&one, 1}}), 0);
    }
    // Waits for a message that comes to a peer.
    void await(const Peer& at) {
        const std::size_t before = at.receive_queue->size();
        EXPECT_TRUE(pair.wire.run_until([&] { return at.receive_queue->size() > before; }));
    }

    Pair pair;
    std::vector<bool> asks;
    std::vector<Nanoseconds> acknowledged_at;
    bool loses = false;
    Nanoseconds start = 0;
};

TEST(LazyAck, IsAskedForByAMessageThatCompletes) {
    Exchange exchange;
    exchange.send(exchange.pair.a);
    exchange.send(exchange.pair.a, signaled);
    exchange.pair.wire.run_until(idle);

    EXPECT_THAT(exchange.asks, ElementsAre(false, true));
    EXPECT_EQ(exchange.acknowledged_at.size(), 1u);
}

TEST(LazyAck, IsAskedForByAllWithoutTheDelay) {
    DeviceConfig eager = lazy;
    eager.lazy_ack_ns = 0;
    Exchange exchange(unsignaled, eager);
    exchange.send(exchange.pair.a);
    exchange.pair.wire.run_until(idle);

    EXPECT_THAT(exchange.asks, ElementsAre(true));
}

TEST(LazyAck, ComesInTimeSoThatNothingIsSentAgain) {
    Exchange exchange;
    const Nanoseconds delay_ns = exchange.pair.wire.path(1).delay_ns;
    exchange.send(exchange.pair.a);
    exchange.pair.wire.run_until(idle);

    EXPECT_THAT(exchange.acknowledged_at,
                ElementsAre(exchange.start + delay_ns + lazy.lazy_ack_ns));
    EXPECT_EQ(exchange.pair.a.queue_pair->counters().packets_resent, 0u);
    EXPECT_EQ(exchange.pair.a.device->next_deadline(), never);
}

TEST(LazyAck, IsOneForManyMessages) {
    Exchange exchange;
    for (int message = 0; message < 10; ++message) {
        exchange.send(exchange.pair.a);
        exchange.await(exchange.pair.b);
        exchange.send(exchange.pair.b);
        exchange.await(exchange.pair.a);
    }
    EXPECT_THAT(exchange.acknowledged_at, IsEmpty());  // 100 µs
    exchange.pair.wire.run_until(idle);

    EXPECT_THAT(exchange.asks, Each(false));
    EXPECT_EQ(exchange.acknowledged_at.size(), 1u);
}

TEST(LazyAck, LeavesWithAnAnswerAfterHalfOfItsTime) {
    Exchange exchange;
    exchange.send(exchange.pair.a);
    exchange.await(exchange.pair.b);
    exchange.pair.wire.run_for(lazy.lazy_ack_ns / 2);
    exchange.send(exchange.pair.a);
    exchange.await(exchange.pair.b);
    const std::uint64_t before = exchange.pair.wire.transmissions;
    exchange.send(exchange.pair.b);
    exchange.await(exchange.pair.a);

    EXPECT_EQ(exchange.acknowledged_at.size(), 1u);
    EXPECT_EQ(exchange.pair.wire.transmissions, before + 1);
}

TEST(LazyAck, ThatNeverComesShowsThatTheMessageWasLost) {
    Exchange exchange;
    exchange.loses = true;
    exchange.send(exchange.pair.a);
    exchange.pair.wire.run_for(lazy.probe_ns + lazy.lazy_ack_ns - 1);
    EXPECT_THAT(exchange.asks, ElementsAre(false));
    exchange.loses = false;
    exchange.await(exchange.pair.b);

    EXPECT_THAT(exchange.asks, ElementsAre(false, true));
}

TEST(LazyAck, IsAskedForWhenHalfOfTheSendQueueIsInUse) {
    Options few = unsignaled;
    few.requests_max = 200;
    Exchange exchange(few);
    exchange.pair.wire.path(1).cut = true;
    for (int message = 0; message < 102; ++message) {
        exchange.send(exchange.pair.a);
        exchange.pair.wire.run_for(1);
    }

    ASSERT_EQ(exchange.asks.size(), 102u);
    EXPECT_FALSE(exchange.asks[99]);
    EXPECT_TRUE(exchange.asks[100]);
    EXPECT_TRUE(exchange.asks[101]);
}

TEST(LazyAck, IsAskedForWhereCreditsAreFew) {
    Options own_queue = unsignaled;
    own_queue.shared_receive_queue = false;
    Exchange many(own_queue, lazy, 200);
    Exchange few(own_queue, lazy, 4);
    for (Exchange *one : {&many, &few}) {
        one->send(one->pair.a);
        one->pair.wire.run_until(idle);
    }

    EXPECT_THAT(many.asks, ElementsAre(false));
    EXPECT_THAT(few.asks, ElementsAre(true));
}

TEST(LazyAck, IsAskedForWhereTheQueuePairTimesOutSoon) {
    Options hasty = unsignaled;
    hasty.timeout = 8;  // 1 ms
    Exchange exchange(hasty);
    exchange.send(exchange.pair.a);
    exchange.pair.wire.run_until(idle);

    EXPECT_THAT(exchange.asks, ElementsAre(true));
}

TEST(LazyAck, AnAnswerDoesNotGather) {
    Exchange exchange;
    exchange.send(exchange.pair.a);
    exchange.await(exchange.pair.b);
    exchange.send(exchange.pair.b);
    exchange.await(exchange.pair.a);
    exchange.send(exchange.pair.a);  // the first is not acknowledged yet
    EXPECT_FALSE(exchange.pair.a.queue_pair->gathers());
    exchange.await(exchange.pair.b);

    exchange.send(exchange.pair.a);
    EXPECT_TRUE(exchange.pair.a.queue_pair->gathers());
}

}  // namespace
}  // namespace lanewise::verbs::testing
