// SPDX-License-Identifier: BSD-3-Clause
//
// Retries of the requester: after lost packets, negative acknowledgements and receivers that are
// not ready, and the bounds of what is in flight.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceConfig two_ports{.port_count = 2};

// Drops the datagrams of a sender that `which` picks, each once.
void drop_once(Pair& pair, std::size_t sender, std::function<bool(const Packet&)> which) {
    pair.wire.tap = [sender, which, dropped = std::set<std::uint32_t>{}](
                        std::size_t from, std::vector<std::byte>& bytes) mutable {
        const auto packet = decode(bytes).packet;
        return !packet || from != sender || !which(*packet) ||
               !dropped.insert(packet->base.psn.value()).second;
    };
}

bool same(const Pair& pair, std::size_t bytes) {
    return std::memcmp(pair.a.memory.data(), pair.b.memory.data(), bytes) == 0;
}

void fill(Pair& pair) {
    for (std::size_t i = 0; i < pair.a.memory.size(); ++i) {
        pair.a.memory[i] = static_cast<std::byte>(i * 31 >> 3);
    }
}

TEST(Timeout, GivesUpAfterExactlyAllRetries) {
    for (std::uint8_t retries = 0; retries <= 7; ++retries) {
        for (const std::uint8_t timeout : std::vector<std::uint8_t>{1, 8, 14}) {
            Pair pair({.timeout = timeout, .retry_count = retries});
            pair.wire.path(1).cut = true;
            const Nanoseconds start = pair.wire.now();

            pair.a.post_send(1, 0, 100);
            pair.a.post_send(2, 0, 100);
            pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

            EXPECT_EQ(pair.wire.now() - start, (retries + 1) * (4096LL << timeout));
            const auto done = pair.a.sends();
            ASSERT_EQ(done.size(), 2u);
            EXPECT_EQ(done[0].status, Status::retry_exceeded);
            EXPECT_EQ(done[1].status, Status::flushed);
            EXPECT_EQ(pair.a.queue_pair->state(), State::error);
        }
    }
}

TEST(Timeout, OfZeroWaitsForEver) {
    Pair pair({.timeout = 0});
    pair.wire.path(1).cut = true;

    pair.a.post_send(1, 0, 100);
    pair.wire.run_for(1);

    EXPECT_EQ(pair.a.device->next_deadline(), never);
}

TEST(Timeout, StartsAgainAfterEveryProgress) {
    Pair pair({.timeout = 8, .retry_count = 1});
    pair.b.post_receive(1, 0, 100);
    drop_once(pair, 1, [](const Packet&) { return true; });

    for (int i = 0; i < 5; ++i) {
        pair.a.post(Operation::write, 1, pair.a.slice(0, 10), pair.b, 0);
        pair.wire.run_until(
            [&] { return pair.a.send_queue->size() > static_cast<std::size_t>(i); });
    }

    EXPECT_EQ(pair.a.queue_pair->counters().timeouts, 5u);
    EXPECT_EQ(pair.a.queue_pair->state(), State::ready_to_send);
}

TEST(Gap, IsReportedOnceAndFilledWithoutATimeout) {
    Pair pair;
    fill(pair);
    drop_once(pair, 0, [&](const Packet& packet) {
        return packet.base.psn == Psn(pair.a.options.send_psn[0]) + 20;
    });

    pair.a.post(Operation::write, 1, pair.a.slice(0, 100'000), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.b.queue_pair->counters().sequence_naks_sent, 1u);
    EXPECT_GT(pair.b.queue_pair->counters().out_of_order, 10u);
    EXPECT_EQ(pair.a.queue_pair->counters().timeouts, 0u);
    EXPECT_TRUE(same(pair, 100'000));
}

TEST(LostAcknowledgement, DeliversNothingTwice) {
    Pair pair;
    for (std::uint64_t i = 0; i < 3; ++i) {
        pair.b.post_receive(i, 0, 100);
    }
    drop_once(pair, 1, [](const Packet&) { return true; });

    pair.a.post_send(1, 0, 100);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.b.receives().size(), 1u);
    EXPECT_EQ(pair.a.sends().size(), 1u);
    EXPECT_EQ(pair.b.queue_pair->counters().duplicates, 1u);
}

TEST(LostReadData, AreAskedForFromTheFirstThatLacks) {
    Pair pair;
    fill(pair);
    const Psn first(pair.a.options.send_psn[0]);
    drop_once(pair, 1, [&](const Packet& packet) { return packet.base.psn == first + 30; });
    std::uint64_t asked_bytes = 0;
    const auto dropping = pair.wire.tap;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        const auto packet = decode(bytes).packet;
        asked_bytes +=
            packet->row.kind == PacketKind::read_request ? packet->rdma.length_bytes : 0u;
        return dropping(from, bytes);
    };

    pair.b.post(Operation::write, 0, pair.b.slice(0, 0), pair.a, 0);
    pair.a.post(Operation::read, 1, pair.a.slice(200'000, 60'000), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(asked_bytes, 60'000u + 60'000 - 30 * 1024);
    EXPECT_EQ(pair.a.queue_pair->counters().timeouts, 0u);
    EXPECT_EQ(std::memcmp(pair.a.memory.data() + 200'000, pair.b.memory.data(), 60'000), 0);
}

TEST(LostAtomicResult, IsGivenAgainFromMemoryOfTheFirst) {
    Pair pair;
    drop_once(pair, 1, [](const Packet& packet) {
        return packet.row.kind == PacketKind::atomic_acknowledge;
    });

    for (std::size_t i = 0; i < 20; ++i) {
        pair.a.post(Operation::fetch_add, i, pair.a.slice(8 * i, 8), pair.b, 0, 1);
    }
    pair.wire.run_until(idle);

    const auto *results = reinterpret_cast<const std::uint64_t *>(pair.a.memory.data());
    for (std::uint64_t i = 0; i < 20; ++i) {
        EXPECT_EQ(results[i], i);
    }
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t *>(pair.b.memory.data()), 20u);
}

TEST(ReceiverNotReady, GivesUpAfterItsOwnRetriesAndTimer) {
    for (std::uint8_t retries = 0; retries < 7; ++retries) {
        Pair pair({.timeout = 20, .rnr_retry = retries, .rnr_timer = 12});
        const Nanoseconds start = pair.wire.now();

        pair.a.post_send(1, 0, 100);
        pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

        EXPECT_EQ(pair.a.sends().at(0).status, Status::rnr_retry_exceeded);
        EXPECT_EQ(pair.wire.now() - start, retries * 640'000 + (retries + 1) * 10'000);
        EXPECT_EQ(pair.a.queue_pair->counters().rnr_naks_received, retries + 1u);
    }
}

TEST(ReceiverNotReady, WaitsForEverWithSevenRetries) {
    Pair pair({.rnr_retry = 7, .rnr_timer = 1});
    pair.a.post_send(1, 0, 100);
    pair.wire.run_for(10'000'000);
    EXPECT_GT(pair.a.queue_pair->counters().rnr_naks_received, 100u);

    pair.b.post_receive(1, 0, 100);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
}

TEST(Credits, LetOneMessageGoBeyondThem) {
    Pair pair({.rnr_timer = 0});
    std::set<std::uint32_t> seen;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        if (from == 0) {
            seen.insert(decode(bytes).packet->base.psn.value());
        }
        return true;
    };
    for (std::uint64_t i = 0; i < 3; ++i) {
        pair.b.post_receive(i, 0, 10);
    }

    for (std::uint64_t i = 0; i < 20; ++i) {
        pair.a.post_send(i, 0, 10);
    }
    pair.wire.run_for(1'000'000);

    EXPECT_EQ(pair.b.receives().size(), 3u);
    EXPECT_EQ(seen.size(), 4u);
}

TEST(Credits, OfASharedReceiveQueueAreUnlimited) {
    Pair pair({.rnr_timer = 0, .shared_receive_queue = true});
    pair.b.post_receive(0, 0, 10);
    for (std::uint64_t i = 0; i < 20; ++i) {
        pair.a.post_send(i, 0, 10);
    }
    pair.wire.run_for(1'000'000);

    EXPECT_GT(pair.b.queue_pair->counters().out_of_order, 10u);
}

TEST(Acknowledgements, OfABatchAreOne) {
    Pair pair;
    for (std::uint64_t i = 0; i < 32; ++i) {
        pair.a.post(Operation::write, i, pair.a.slice(0, 64), pair.b, 0);
    }
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.sends().size(), 32u);
    EXPECT_EQ(pair.b.queue_pair->counters().packets_sent, 1u);
}

TEST(Window, BoundsWhatIsUnderWay) {
    DeviceConfig config = two_ports;
    config.window_bytes = 16 * 1024;
    Pair pair({.mtu = Mtu::b1024}, config);
    pair.wire.path(1).cut = true;

    pair.a.post(Operation::write, 1, pair.a.slice(0, 500'000), pair.b, 0);
    pair.wire.run_for(1);

    EXPECT_EQ(pair.a.queue_pair->counters().packets_sent, 16u);
}

TEST(Window, BoundsTheAnswersToAReadAsWell) {
    DeviceConfig config = two_ports;
    config.window_bytes = 16 * 1024;
    Pair pair({.mtu = Mtu::b1024}, config);
    std::uint32_t most = 0;
    pair.wire.tap = [&](std::size_t, std::vector<std::byte>& bytes) {
        const auto packet = decode(bytes).packet;
        most = std::max(
            most, packet->row.kind == PacketKind::read_request ? packet->rdma.length_bytes : 0);
        return true;
    };

    pair.a.post(Operation::read, 1, pair.a.slice(0, 500'000), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(most, 8u * 1024);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
}

TEST(Batches, HoldRunsOfPacketsOfOneLength) {
    Pair pair({.mtu = Mtu::b4096});
    pair.a.post(Operation::write, 1, pair.a.slice(0, 15 * 4096 + 5), pair.b, 0);
    pair.wire.run_until(idle);

    // The first is longer by its extended header; the others, and the short last one, go at once;
    // then the acknowledgement.
    EXPECT_EQ(pair.wire.datagrams, 17u);
    EXPECT_EQ(pair.wire.transmissions, 3u);
}

TEST(Fence, WaitsForTheReadsBeforeIt) {
    Pair pair;
    std::vector<PacketKind> order;
    pair.wire.tap = [&](std::size_t, std::vector<std::byte>& bytes) {
        order.push_back(decode(bytes).packet->row.kind);
        return true;
    };
    pair.a.post(Operation::read, 1, pair.a.slice(0, 8), pair.b, 0);
    const Slice slice = pair.a.slice(0, 8);
    pair.a.queue_pair->post_send({.id = 2,
                                  .operation = Operation::write,
                                  .flags = fence,
                                  .slices = {&slice, 1},
                                  .remote_address = pair.b.address(100),
                                  .rkey = pair.b.key});
    pair.wire.run_until(idle);

    EXPECT_THAT(order, ElementsAre(PacketKind::read_request, PacketKind::read_response,
                                   PacketKind::write, PacketKind::acknowledge));
}

TEST(Probe, FindsALostTailLongBeforeTheTimeout) {
    DeviceConfig config = two_ports;
    config.probe_ns = 100'000;
    Pair pair({.timeout = 18, .retry_count = 0}, config);
    fill(pair);
    drop_once(pair, 0, [](const Packet& packet) { return packet.row.part == Part::last; });
    const Nanoseconds start = pair.wire.now();

    pair.a.post(Operation::write, 1, pair.a.slice(0, 30'000), pair.b, 0);
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_LT(pair.wire.now() - start, 200'000);
    EXPECT_EQ(pair.a.queue_pair->counters().timeouts, 0u);
    EXPECT_TRUE(same(pair, 30'000));
}

// The acknowledgements of two messages come just after the probe has left, one after the other.
TEST(Probe, SendsNothingElseAgainIfTheAnswersWereOnlyLate) {
    DeviceConfig config = two_ports;
    config.probe_ns = 100'000;
    config.window_bytes = 64 * 1024;
    Pair pair({.timeout = 14}, config);
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until(idle);

    pair.wire.path(1).delay_ns = 52'000;
    pair.a.post(Operation::write, 2, pair.a.slice(0, 32 * 1024), pair.b, 0);
    pair.wire.run_for(2'000);
    pair.a.post(Operation::write, 3, pair.a.slice(0, 32 * 1024), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.queue_pair->counters().probes, 1u);
    EXPECT_EQ(pair.a.queue_pair->counters().packets_resent, 1u);
    EXPECT_EQ(pair.a.sends().size(), 3u);
}

TEST(Probe, LeavesTheTimeoutAsItIs) {
    DeviceConfig config = two_ports;
    config.probe_ns = 100'000;
    Pair pair({.timeout = 10, .retry_count = 3}, config);
    pair.wire.path(1).cut = true;
    const Nanoseconds start = pair.wire.now();

    pair.a.post_send(1, 0, 100);
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

    EXPECT_EQ(pair.wire.now() - start, 4 * (4096LL << 10));
    EXPECT_GT(pair.a.queue_pair->counters().probes, 4u);
}

constexpr DeviceConfig with_probes{.port_count = 2, .probe_ns = 500'000};

// Else the answer to each probe, which is to the packet before it, keeps the round trip unknown.
TEST(Probe, OfAPacketThatWasOnlyLateIsRareOnceTheRoundTripIsKnown) {
    for (const Operation operation : {Operation::write, Operation::read}) {
        for (const Nanoseconds delay_ns : {260'000, 350'000, 400'000, 1'000'000}) {
            Pair pair({.timeout = 14}, with_probes);
            pair.wire.path(1).delay_ns = delay_ns;
            for (int i = 0; i < 50; ++i) {
                pair.a.post(operation, 1, pair.a.slice(0, 8), pair.b, 0);
                pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });
                EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
            }
            EXPECT_LE(pair.a.queue_pair->counters().packets_resent, 3u) << delay_ns;
        }
    }
}

// A packet and its probe are lost, and the one behind them shows that to the peer.
TEST(Probe, ThatIsAnsweredByAGapIsFollowedByThePacketAtOnce) {
    Pair pair({.timeout = 18}, with_probes);
    pair.wire.path(1).delay_ns = 50'000;
    for (int i = 0; i < 20; ++i) {
        pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
        pair.wire.run_until(idle);
    }
    pair.wire.tap = [lost = 0](std::size_t from, std::vector<std::byte>&) mutable {
        return from == 1 || ++lost > 2;
    };
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_for(600'000);
    ASSERT_EQ(pair.a.queue_pair->counters().probes, 1u);
    const Nanoseconds start = pair.wire.now();

    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until([&] { return pair.a.send_queue->size() == 22; });

    EXPECT_LT(pair.wire.now() - start, 4 * 50'000 + 1'000);
}

// Both the acknowledgement that skips the data and the response to the probe show that.
TEST(Probe, OfAReadWhoseDataAreLostTwiceTakesOneRetry) {
    Pair pair({.timeout = 18, .retry_count = 1}, with_probes);
    pair.wire.path(1).delay_ns = 100'000;
    pair.wire.tap = [lost = 0](std::size_t from, std::vector<std::byte>& bytes) mutable {
        const bool is_data = decode(bytes).packet->row.kind == PacketKind::read_response;
        return from == 0 || !is_data || ++lost > 2;
    };
    pair.a.post(Operation::read, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_for(510'000);  // the probe is on its way
    pair.a.post(Operation::write, 2, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_for(140'000);
    pair.a.post(Operation::write, 3, pair.a.slice(0, 8), pair.b, 0);

    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.queue_pair->state(), State::ready_to_send);
    EXPECT_EQ(pair.a.sends().size(), 3u);
}

// The peer drops what is out of order, so a run of packets is sent again, some of them from memory
// that is deregistered meanwhile. Those before it complete, and it fails in its turn.
TEST(Retransmission, OfARunEndsWhereTheMemoryIsGone) {
    Pair pair({}, {.port_count = 2, .reassembly_bytes = 0});
    MemoryTable& memory = pair.a.device->memory();
    const std::uint32_t key = memory.add({.domain = 1,
                                          .start = pair.a.memory.data(),
                                          .address = pair.a.address(0),
                                          .length_bytes = pair.a.memory.size(),
                                          .access = all_access});
    pair.wire.tap = [&, sent = 0, is_gone = false](std::size_t from,
                                                   std::vector<std::byte>&) mutable {
        if (from == 0) return ++sent > 1;
        if (!is_gone) memory.remove(key);
        is_gone = true;
        return true;
    };
    for (int i = 0; i < 4; ++i) {
        pair.a.post(Operation::write, 1, pair.a.slice(0, 3 * 1024), pair.b, 0);
        Slice slice = pair.a.slice(0, 1024);
        slice.lkey = key;
        pair.a.post(Operation::write, 2, slice, pair.b, 0);
    }

    pair.wire.run_until(idle);

    const auto done = pair.a.sends();
    ASSERT_EQ(done.size(), 8u);
    EXPECT_EQ(done[0].status, Status::success);
    EXPECT_EQ(done[1].status, Status::local_protection_error);
    EXPECT_EQ(done[2].status, Status::flushed);
}

}  // namespace
}  // namespace lanewise::verbs::testing
