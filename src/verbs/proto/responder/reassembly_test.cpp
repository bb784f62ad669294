// SPDX-License-Identifier: BSD-3-Clause
//
// Lost and reordered packets, and how few of them are sent twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "verbs/proto/responder/reassembly.hpp"
#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr std::size_t message_bytes = 40 * 1024;

struct Stream {
    explicit Stream(const DeviceConfig& config = {.port_count = 2}) : pair({}, config) {
        for (std::size_t i = 0; i < pair.a.memory.size(); ++i) {
            pair.a.memory[i] = static_cast<std::byte>(i * 31 >> 3);
        }
        first = Psn(pair.a.options.send_psn[0]);
    }
    // Drops the first copy of each of the packets with these places in the message.
    void lose(std::set<std::uint32_t> places) {
        pair.wire.tap = [this, places](std::size_t from, std::vector<std::byte>& bytes) mutable {
            const auto packet = decode(bytes).packet;
            return from != 0 || places.erase(place_of(*packet)) == 0;
        };
    }
    // Lets one packet arrive behind the `count` that follow it.
    void delay(std::uint32_t place, std::uint32_t count) {
        pair.wire.tap = [this, place, count, held = std::vector<std::byte>{}](
                            std::size_t from, std::vector<std::byte>& bytes) mutable {
            const auto at = from == 0 ? place_of(*decode(bytes).packet) : 0;
            if (from == 0 && at == place && held.empty()) {
                held = bytes;
                return false;
            }
            if (from == 0 && at == place + count + 1 && !held.empty()) {
                Arrival arrival{.port = 1, .source_udp_port = 0xc000};
                arrival.source = address_of(Family::ipv4, 0, 1);
                arrival.destination = address_of(Family::ipv4, 1, 1);
                late = held;
                late_arrival = arrival;
            }
            return true;
        };
    }
    std::uint32_t place_of(const Packet& packet) const {
        return static_cast<std::uint32_t>(distance(first, packet.base.psn));
    }
    void write() {
        pair.a.post(Operation::write, 1, pair.a.slice(0, message_bytes), pair.b, 0);
        pair.wire.run_until(idle);
    }
    bool arrived() {
        return pair.a.sends().size() == 1 &&
               std::memcmp(pair.a.memory.data(), pair.b.memory.data(), message_bytes) == 0;
    }
    const QueuePairCounters& sender() { return pair.a.queue_pair->counters(); }
    const QueuePairCounters& receiver() { return pair.b.queue_pair->counters(); }

    Pair pair;
    Psn first;
    std::vector<std::byte> late;
    Arrival late_arrival;
};

TEST(Lost, OnePacketIsSentAgainAlone) {
    Stream stream;
    stream.lose({5});
    stream.write();

    EXPECT_TRUE(stream.arrived());
    EXPECT_EQ(stream.sender().packets_resent, 1u);
    EXPECT_EQ(stream.sender().timeouts, 0u);
}

TEST(Lost, EachOfSeveralPacketsIsSentAgainOnce) {
    Stream stream;
    stream.lose({5, 6, 17, 30});
    stream.write();

    EXPECT_TRUE(stream.arrived());
    EXPECT_EQ(stream.sender().packets_resent, 4u);
    EXPECT_EQ(stream.receiver().sequence_naks_sent, 4u);
}

// The response to a probe then looks like that of a peer that drops out-of-order packets.
TEST(Lost, ALostNakDoesNotMakeTheSenderGoBackFromThenOn) {
    Stream stream({.port_count = 2, .probe_ns = 500'000});
    stream.lose({5, 6});
    stream.pair.wire.tap = [lose = stream.pair.wire.tap, naks = 0](
                               std::size_t from, std::vector<std::byte>& bytes) mutable {
        const auto packet = decode(bytes).packet;
        const bool is_nak =
            from == 1 && acknowledgement_of(packet->ack.syndrome) == Acknowledgement::nak;
        return !(is_nak && ++naks == 2) && lose(from, bytes);
    };
    stream.write();
    EXPECT_TRUE(stream.arrived());
    EXPECT_GT(stream.sender().probes, 0u);

    const std::uint64_t before = stream.sender().packets_resent;
    stream.lose({45});
    stream.write();
    EXPECT_TRUE(stream.arrived());
    EXPECT_EQ(stream.sender().packets_resent, before + 1);
}

TEST(Lost, APeerThatDropsOutOfOrderPacketsGetsAllAgain) {
    Stream stream({.port_count = 2, .reassembly_bytes = 0});
    stream.lose({5});
    stream.write();

    EXPECT_TRUE(stream.arrived());
    EXPECT_GT(stream.sender().packets_resent, 20u);
    EXPECT_EQ(stream.sender().timeouts, 0u);
}

TEST(ReassemblyBuffer, IsBounded) {
    ReassemblyBuffer buffer;
    const std::vector<std::byte> payload(1000);
    for (std::uint32_t i = 0; i < 100; ++i) {
        Packet packet;
        packet.base.psn = Psn(i);
        packet.payload = payload;
        buffer.insert(packet, 10'000);
        buffer.insert(packet, 10'000);
    }
    EXPECT_EQ(buffer.size(), 10u);
    EXPECT_FALSE(buffer.take(Psn(10)));
    ASSERT_TRUE(buffer.take(Psn(9)));
    EXPECT_FALSE(buffer.take(Psn(9)));
}

// The late packet comes after the two behind it, the last of the message.
TEST(Reordered, APacketIsNotRequestedBeforeItsTime) {
    for (const Nanoseconds reorder_ns : {Nanoseconds{0}, Nanoseconds{30'000}}) {
        Stream stream({.port_count = 2, .reorder_ns = reorder_ns});
        stream.delay(5, 1);
        stream.pair.a.post(Operation::write, 1, stream.pair.a.slice(0, 8 * 1024), stream.pair.b, 0);
        stream.pair.wire.run_until([&] { return stream.receiver().out_of_order == 2; });
        stream.pair.wire.deliver(1, stream.late, stream.late_arrival);
        stream.pair.wire.run_until(idle);

        EXPECT_EQ(stream.pair.a.sends().size(), 1u);
        EXPECT_EQ(stream.receiver().sequence_naks_sent, reorder_ns == 0 ? 1u : 0u);
        EXPECT_EQ(stream.sender().packets_resent, 0u);
    }
}

TEST(Reordered, AGapThatStaysOpenIsReportedInTime) {
    Stream stream({.port_count = 2, .reorder_ns = 30'000});
    stream.lose({38});  // only one packet follows
    const Nanoseconds start = stream.pair.wire.now();
    stream.write();

    EXPECT_TRUE(stream.arrived());
    EXPECT_EQ(stream.sender().packets_resent, 1u);
    EXPECT_LT(stream.pair.wire.now() - start, 200'000);
}

}  // namespace
}  // namespace lanewise::verbs::testing
