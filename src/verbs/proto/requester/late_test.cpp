// SPDX-License-Identifier: BSD-3-Clause
//
// Packets that count as lost and were only late: what they cost the sender's window.

#include <gtest/gtest.h>

#include <vector>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr DeviceConfig small_window{
    .port_count = 2, .window_bytes = 64 * 1024, .probe_ns = 1'000'000};
constexpr std::uint32_t window_packets = 64;
constexpr std::size_t written_bytes = 100'000;

// One packet of the message, whose first `lost` copies are lost and whose next one is held.
struct Held {
    explicit Held(unsigned lost) : pair({}, small_window) {
        pair.wire.tap = [this, lost](std::size_t from, std::vector<std::byte>& bytes) {
            if (!is_it(from, bytes) || ++copies > lost + 1) return true;
            held = bytes;
            return false;
        };
        pair.a.post(Operation::write, 1, pair.a.slice(0, written_bytes), pair.b, 0);
        pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });
        EXPECT_EQ(pair.a.sends().size(), 1u);
    }
    bool is_it(std::size_t from, const std::vector<std::byte>& bytes) const {
        return from == 0 && decode(bytes).packet->base.psn == Psn(pair.a.options.send_psn[0]) + 20;
    }
    void arrives() {
        Arrival late{.port = 1, .source_udp_port = pair.a.vector(1).source_udp_port};
        late.source = address_of(Family::ipv4, 0, 1);
        late.destination = address_of(Family::ipv4, 1, 1);
        pair.wire.deliver(1, held, late);
        pair.wire.run_for(100'000);
        EXPECT_EQ(pair.b.queue_pair->counters().duplicates, 1u);
    }

    Pair pair;
    unsigned copies = 0;
    std::vector<std::byte> held;
};

// How many packets the sender sends without an answer.
std::uint32_t packets_ahead(Pair& pair) {
    std::uint32_t count = 0;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>&) {
        count += from == 0 ? 1 : 0;
        return false;
    };
    pair.a.post(Operation::write, 2, pair.a.slice(0, written_bytes), pair.b, 0);
    pair.wire.run_for(1);
    return count;
}

TEST(LatePacket, HalvesTheWindowUntilItArrives) {
    Held lost(0);
    Held late(0);
    ASSERT_EQ(late.pair.a.queue_pair->counters().packets_resent, 1u);

    late.arrives();

    EXPECT_LT(packets_ahead(lost.pair), 40u);
    EXPECT_EQ(packets_ahead(late.pair), window_packets);
}

// Then nobody knows whether the packet or the probe arrived twice.
TEST(LatePacket, GivesNothingBackIfItWasSentAsAProbeAsWell) {
    Held late(1);
    ASSERT_EQ(late.pair.a.queue_pair->counters().probes, 1u);

    late.arrives();

    EXPECT_LT(packets_ahead(late.pair), 40u);
}

// The window of 64 packets has become one of 32, and half of that may go before anything arrives.
TEST(LostPacket, IsSentAgainTogetherWithNewPackets) {
    Pair pair({}, small_window);
    const Psn lost = Psn(pair.a.options.send_psn[0]) + 20;
    unsigned copies = 0;
    std::uint32_t behind = 0;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        if (from != 0) return copies < 2;  // nothing is acknowledged from then on
        const bool is_it = decode(bytes).packet->base.psn == lost;
        copies += is_it ? 1 : 0;
        behind += copies == 2 && !is_it ? 1 : 0;
        return !is_it;
    };

    pair.a.post(Operation::write, 1, pair.a.slice(0, 4 * written_bytes), pair.b, 0);
    pair.wire.run_for(1'000'000);

    EXPECT_EQ(copies, 2u);
    EXPECT_EQ(behind, 16u);
}

// Bytes that are written in a fifth of a second over a link that loses one packet in a hundred.
std::size_t written_in_time(double reorder, double rate_bits_per_s, std::uint64_t seed) {
    Pair pair({}, {.port_count = 2, .reorder_ns = 200'000, .probe_ns = 500'000}, seed);
    pair.wire.path(1) = {
        .loss = 0.01, .reorder = reorder, .delay_ns = 100'000, .rate_bits_per_s = rate_bits_per_s};
    const Nanoseconds end = pair.wire.now() + second_ns / 5;
    std::size_t written = 0;
    while (pair.wire.now() < end) {
        for (int i = 0; i < 4; ++i) {
            pair.a.post(Operation::write, 1, pair.a.slice(0, written_bytes), pair.b, 0);
        }
        pair.wire.run_until([&] { return pair.a.send_queue->size() > 2; }, end);
        written += pair.a.sends().size() * written_bytes;
    }
    return written;
}

// A held packet is behind for up to five round trips.
TEST(LatePacket, CostsAStreamLittleOverALinkThatReorders) {
    constexpr double link_bits_per_s = 1e9;
    std::size_t in_order = 0;
    std::size_t reordered = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        in_order += written_in_time(0, link_bits_per_s, seed);
        reordered += written_in_time(0.01, link_bits_per_s, seed);
    }
    EXPECT_GT(static_cast<double>(reordered) / static_cast<double>(in_order), 0.85);
}

// Where the link is no limit, each gap takes a round trip, whether its packet was lost or late. It
// is still more than TCP writes where packets are only lost (goodput_test.cpp): 17.7 MB.
TEST(LatePacket, LeavesAStreamOverAFastLinkTwiceAsFastAsTcp) {
    constexpr double no_limit = 0;
    constexpr std::size_t tcp_bytes = 17'700'000;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        EXPECT_GT(written_in_time(0.01, no_limit, seed), 2 * tcp_bytes);
    }
}

}  // namespace
}  // namespace lanewise::verbs::testing
