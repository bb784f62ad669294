// SPDX-License-Identifier: BSD-3-Clause
//
// Every packet is hostile. The same scripts that the fuzzer grows are drawn at random here.

#include <gtest/gtest.h>

#include <random>

#include "testing/cases.hpp"
#include "verbs/proto/testing/hostile.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

TEST(Hostile, ScriptsHarmNothingOutsideTheRegion) {
    std::mt19937_64 random(1);
    Target target;
    std::vector<std::uint8_t> script;
    const std::uint64_t rounds = lanewise::testing::cases<std::uint64_t>(68'000, 17'000);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        script.resize(random() % 400);
        for (std::uint8_t& byte : script) {
            byte = static_cast<std::uint8_t>(random());
        }
        target.play(script);
        ASSERT_TRUE(round % 256 != 0 || target.unharmed()) << round;
    }
    EXPECT_TRUE(target.unharmed());
    EXPECT_GT(target.accepted(), rounds / 68 * 60);
}

TEST(Hostile, BytesAreNoPacketOrOneThatLiesInsideThem) {
    std::mt19937_64 random(2);
    const int rounds = lanewise::testing::cases(200'000, 50'000);
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::byte> bytes(random() % 100);
        for (std::byte& byte : bytes) {
            byte = static_cast<std::byte>(random());
        }
        const auto decoded = decode(bytes);
        if (decoded.packet) {
            const auto payload = decoded.packet->payload;
            ASSERT_GE(payload.data(), bytes.data() + bth_bytes);
            ASSERT_LE(payload.data() + payload.size(), bytes.data() + bytes.size() - icrc_bytes);
        }
    }
}

TEST(Hostile, PacketsFromAnotherAddressAreNotHeard) {
    Pair pair;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        if (from == 0) {
            for (const std::uint8_t last : std::vector<std::uint8_t>{2, 77}) {
                Arrival arrival{.port = 1, .source_udp_port = 0xc000};
                arrival.source = address_of(Family::ipv4, 0, 1);
                arrival.source[15] = last;
                arrival.destination = address_of(Family::ipv4, 1, 1);
                seal(bytes, {arrival.source, arrival.destination, arrival.source_udp_port}, 0);
                pair.wire.deliver(1, bytes, arrival);
            }
        }
        return from != 0;
    };
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_for(1000);

    EXPECT_EQ(pair.b.queue_pair->counters().packets_received, 0u);
    EXPECT_EQ(pair.b.queue_pair->counters().foreign_packets, 2u);
    EXPECT_EQ(pair.b.device->counters(1).icrc_errors, 0u);
}

TEST(Hostile, PacketsOfAnotherPartitionAreDroppedAndCounted) {
    Pair pair({.timeout = 5, .retry_count = 0});
    pair.wire.tap = [&](std::size_t, std::vector<std::byte>& bytes) {
        bytes[3] = std::byte{0x0f};
        const auto port = std::uint8_t{1};
        Arrival arrival{.port = port, .source_udp_port = 0xc000, .ip_id = 0};
        arrival.source = address_of(Family::ipv4, 0, port);
        arrival.destination = address_of(Family::ipv4, 1, port);
        seal(bytes, {arrival.source, arrival.destination, arrival.source_udp_port}, 0);
        pair.wire.deliver(1, bytes, arrival);
        return false;
    };
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until([] { return false; });

    EXPECT_EQ(pair.b.device->counters(1).pkey_violations, 1u);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
}

// Makes a changed packet of the first peer, the first of its batch, look as if it had been sent so.
void seal_again(std::vector<std::byte>& bytes) {
    seal(bytes, {address_of(Family::ipv4, 0, 1), address_of(Family::ipv4, 1, 1), 0xc000}, 0);
}

TEST(Hostile, AMessageWithoutABeginningIsAnInvalidRequest) {
    constexpr std::byte send_first{0};
    constexpr std::byte send_middle{1};
    Pair pair;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        if (from == 0 && bytes[0] == send_first) {
            bytes[0] = send_middle;
            seal_again(bytes);
        }
        return true;
    };
    pair.b.post_receive(1, 0, 4000);
    pair.a.post_send(1, 0, 3000);
    pair.wire.run_until([] { return false; });

    EXPECT_EQ(pair.b.queue_pair->counters().error_naks_sent, 1u);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::remote_invalid_request);
}

TEST(Hostile, PacketsForAQueuePairThatIsNotThereAreDroppedAndCounted) {
    Pair pair({.timeout = 5, .retry_count = 0});
    pair.wire.tap = [&](std::size_t, std::vector<std::byte>& bytes) {
        bytes[5] = bytes[6] = bytes[7] = std::byte{0xab};
        seal_again(bytes);
        return true;
    };
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until([] { return false; });

    EXPECT_EQ(pair.b.device->counters(1).unknown_queue_pair, 1u);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
}

TEST(Hostile, PacketsWithAWrongChecksumAreDroppedAndCounted) {
    Pair pair;
    bool spoilt = false;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        if (from == 0 && !spoilt) {
            spoilt = true;
            bytes.back() ^= std::byte{1};
        }
        return true;
    };
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until([] { return false; });

    EXPECT_EQ(pair.b.device->counters(1).icrc_errors, 1u);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
}

}  // namespace
}  // namespace lanewise::verbs::testing
