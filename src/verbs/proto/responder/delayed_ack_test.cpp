// SPDX-License-Identifier: BSD-3-Clause
//
// Delayed acknowledgements, and requests that gather.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::ElementsAre;

constexpr DeviceConfig delaying{.port_count = 2, .ack_delay_ns = 20'000};

// What one transmission of a device holds.
std::vector<PacketKind> kinds_sent(Device& device, Nanoseconds now) {
    std::vector<std::byte> buffer(64 * 1024);
    std::vector<PacketKind> kinds;
    const auto run = device.poll_transmit(now, buffer, 64);
    for (std::size_t i = 0; run && i < run->segments; ++i) {
        const std::size_t from = i * run->segment_bytes;
        const std::size_t bytes = std::min(run->segment_bytes, run->bytes - from);
        kinds.push_back(decode(std::span(buffer).subspan(from, bytes)).packet->row.kind);
    }
    return kinds;
}

// b has received a message of eight bytes and not yet posted its reply.
struct Asked {
    explicit Asked(const DeviceConfig& config = delaying) : pair({}, config) {
        pair.b.post_receive(1, 0, 100);
        pair.a.post_send(1, 0, 8);
        pair.wire.run_until([&] { return pair.b.receive_queue->size() > 0; });
    }
    Pair pair;
};

TEST(DelayedAck, LeavesInOneBatchWithTheReply) {
    Asked asked;
    EXPECT_THAT(kinds_sent(*asked.pair.b.device, asked.pair.wire.now()), ElementsAre());

    asked.pair.b.post_send(2, 0, 8);

    EXPECT_THAT(kinds_sent(*asked.pair.b.device, asked.pair.wire.now()),
                ElementsAre(PacketKind::send, PacketKind::acknowledge));
}

TEST(DelayedAck, LeavesAloneWhenAsked) {
    Asked asked;

    asked.pair.b.device->send_delayed_acks();

    EXPECT_THAT(kinds_sent(*asked.pair.b.device, asked.pair.wire.now()),
                ElementsAre(PacketKind::acknowledge));
}

TEST(DelayedAck, KeepsTheDeviceFromBeingIdleUntilItHasLeft) {
    Asked asked;
    Device& device = *asked.pair.b.device;
    EXPECT_FALSE(device.idle());

    device.send_delayed_acks();
    EXPECT_FALSE(device.idle());
    kinds_sent(device, asked.pair.wire.now());

    EXPECT_TRUE(device.idle());
}

TEST(DelayedAck, WaitsNoLongerThanItsDelay) {
    Asked asked;
    const Nanoseconds until = asked.pair.wire.now() + delaying.ack_delay_ns;
    EXPECT_EQ(asked.pair.b.device->next_deadline(), until);

    asked.pair.b.device->on_deadline(until);

    EXPECT_THAT(kinds_sent(*asked.pair.b.device, until), ElementsAre(PacketKind::acknowledge));
}

TEST(DelayedAck, IsSentAtOnceForAQuarterOfTheWindow) {
    Pair pair({.mtu = Mtu::b4096}, delaying);
    const Nanoseconds start = pair.wire.now();

    pair.a.post(Operation::write, 1, pair.a.slice(0, delaying.window_bytes / 4), pair.b, 0);
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

    EXPECT_EQ(pair.a.sends().size(), 1u);
    EXPECT_LT(pair.wire.now() - start, delaying.ack_delay_ns);
}

TEST(DelayedAck, IsSentAtOnceWithoutADelay) {
    EXPECT_EQ(Asked(delaying).pair.wire.datagrams, 1u);
    EXPECT_EQ(Asked(DeviceConfig{.port_count = 2}).pair.wire.datagrams, 2u);
}

TEST(Gathering, TheFirstRequestIsSentAndTheNextWaitForABatch) {
    Pair pair;
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    EXPECT_FALSE(pair.a.queue_pair->gathers());
    EXPECT_THAT(kinds_sent(*pair.a.device, 1), ElementsAre(PacketKind::write));

    std::size_t posted = 0;
    do {
        pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
        ++posted;
    } while (pair.a.queue_pair->gathers() && posted < 1000);

    EXPECT_EQ(posted, 64u);
    EXPECT_EQ(kinds_sent(*pair.a.device, 1).size(), 64u);
}

TEST(Gathering, LargeRequestsWaitForNothingHoweverManyPacketsTheyAre) {
    // Together these have as many packets as there are sequence numbers.
    constexpr int posted = 4;
    constexpr std::uint32_t largest_bytes = 1u << 30;
    Pair pair({.mtu = Mtu::b256});
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    kinds_sent(*pair.a.device, 1);

    for (int i = 0; i < posted; ++i) {
        pair.a.post(Operation::write, 2, pair.a.slice(0, largest_bytes), pair.b, 0);
        EXPECT_FALSE(pair.a.queue_pair->gathers()) << i;
    }
}

TEST(Gathering, AReadWaitsForNothing) {
    Pair pair;
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    kinds_sent(*pair.a.device, 1);

    pair.a.post(Operation::read, 2, pair.a.slice(0, 8), pair.b, 0);

    EXPECT_FALSE(pair.a.queue_pair->gathers());
}

}  // namespace
}  // namespace lanewise::verbs::testing
