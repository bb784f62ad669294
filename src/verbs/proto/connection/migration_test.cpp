// SPDX-License-Identifier: BSD-3-Clause
//
// Path migration between two queue pairs with two ports each: by command, after the last retry,
// when the carrier is lost, and when the peer has migrated.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "verbs/proto/testing/traffic.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Both sides load port 2, and a little traffic arms them.
void arm(Pair& pair, std::uint8_t port = 2) {
    ASSERT_EQ(pair.a.rearm(port), 0);
    ASSERT_EQ(pair.b.rearm(port), 0);
    pair.a.post(Operation::write, 77, pair.a.slice(0, 8), pair.b, 0);
    pair.b.post(Operation::write, 77, pair.b.slice(0, 8), pair.a, 0);
    pair.wire.run_until(idle);
    pair.a.sends();
    pair.b.sends();
    ASSERT_EQ(migration_of(pair.a), Migration::armed);
    ASSERT_EQ(migration_of(pair.b), Migration::armed);
}

TEST(Migration, BeginsMigratedAndSaysSoInEveryPacket) {
    Pair pair;
    bool all = true;
    pair.wire.tap = [&](std::size_t, std::vector<std::byte>& bytes) {
        all = all && decode(bytes).packet->base.migration_request;
        return true;
    };
    pair.a.post(Operation::read, 1, pair.a.slice(0, 5000), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(migration_of(pair.a), Migration::migrated);
    EXPECT_TRUE(all);
}

TEST(Migration, IsArmedByAPacketOfAPeerThatIsNotMigrated) {
    Pair pair;
    ASSERT_EQ(pair.a.rearm(), 0);
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until(idle);
    EXPECT_EQ(migration_of(pair.a), Migration::rearm);

    ASSERT_EQ(pair.b.rearm(), 0);
    EXPECT_EQ(migration_of(pair.b), Migration::rearm);
    pair.a.post(Operation::write, 2, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(migration_of(pair.a), Migration::armed);
    EXPECT_EQ(migration_of(pair.b), Migration::armed);
}

TEST(Migration, CommandsAreTakenOnlyWhereTheStateAllows) {
    Pair pair;
    Attributes wanted;
    wanted.migration = Migration::rearm;
    EXPECT_EQ(pair.a.queue_pair->modify(wanted, migration_attribute), EINVAL);  // nothing loaded
    wanted.migration = Migration::armed;
    EXPECT_EQ(pair.a.queue_pair->modify(wanted, migration_attribute), EINVAL);
    EXPECT_EQ(pair.a.rearm(3), EINVAL);  // no such port
    EXPECT_EQ(pair.a.migrate(), 0);      // it is already
    ASSERT_EQ(pair.a.rearm(), 0);
    EXPECT_EQ(pair.a.migrate(), EINVAL);  // not armed yet
    ASSERT_EQ(pair.b.rearm(), 0);
    arm(pair);
    EXPECT_EQ(pair.a.rearm(), EINVAL);  // armed already
    EXPECT_EQ(pair.a.migrate(), 0);
    EXPECT_EQ(migration_of(pair.a), Migration::migrated);
}

TEST(Migration, OnCommandMovesBothSides) {
    Pair pair;
    arm(pair);

    EXPECT_EQ(pair.a.migrate(), 0);
    pair.wire.run_until(idle);

    EXPECT_THAT(pair.a.events(), ElementsAre(EventKind::path_migrated));
    EXPECT_THAT(pair.b.events(), ElementsAre(EventKind::path_migrated));
    EXPECT_EQ(port_of(pair.a), 2);
    EXPECT_EQ(port_of(pair.b), 2);
    EXPECT_EQ(pair.a.queue_pair->counters().migrations, 1u);
}

TEST(Migration, CanBeRepeatedBackAndForth) {
    Pair pair;
    for (int round = 0; round < 10; ++round) {
        arm(pair, static_cast<std::uint8_t>(round % 2 == 0 ? 2 : 1));
        EXPECT_EQ((round % 3 == 0 ? pair.b : pair.a).migrate(), 0);
        pair.wire.run_until(idle);
        EXPECT_EQ(port_of(pair.a), round % 2 == 0 ? 2 : 1);
        EXPECT_EQ(port_of(pair.b), port_of(pair.a));
    }
}

TEST(Migration, HasACauseThatIsKept) {
    Pair pair({.timeout = 8, .retry_count = 3});
    arm(pair, 2);
    pair.a.migrate();
    pair.wire.run_until(idle);
    arm(pair, 1);
    pair.b.device->on_port_state(2, PortState::down);
    pair.wire.run_until(idle);
    pair.b.device->on_port_state(2, PortState::active);
    arm(pair, 2);
    pair.wire.path(1).cut = true;
    pair.b.post_receive(1, 100, 3000);
    pair.a.post_send(1, 0, 3000);
    pair.wire.run_until(idle);

    const QueuePair& a = *pair.a.queue_pair;
    const QueuePair& b = *pair.b.queue_pair;
    EXPECT_EQ(a.cause_of_migration(1), MigrationCause::command);
    EXPECT_EQ(b.cause_of_migration(1), MigrationCause::peer);
    EXPECT_EQ(a.cause_of_migration(2), MigrationCause::peer);
    EXPECT_EQ(b.cause_of_migration(2), MigrationCause::carrier);
    EXPECT_EQ(a.cause_of_migration(3), MigrationCause::retries);
    EXPECT_EQ(b.cause_of_migration(3), MigrationCause::peer);
    EXPECT_EQ(a.cause_of_migration(0), MigrationCause::unknown);
    EXPECT_EQ(a.cause_of_migration(4), MigrationCause::unknown);
}

TEST(Migration, OfLongAgoHasNoCauseAnyMore) {
    Pair pair;
    constexpr std::uint64_t count = migration_causes_max + 1;
    for (std::uint64_t round = 0; round < count; ++round) {
        arm(pair, static_cast<std::uint8_t>(round % 2 == 0 ? 2 : 1));
        pair.a.migrate();
        pair.wire.run_until(idle);
    }
    EXPECT_EQ(pair.a.queue_pair->cause_of_migration(1), MigrationCause::unknown);
    EXPECT_EQ(pair.a.queue_pair->cause_of_migration(2), MigrationCause::command);
    EXPECT_EQ(pair.a.queue_pair->cause_of_migration(count), MigrationCause::command);
}

TEST(Migration, OnRetryExhaustionComesAfterExactlyAllRetriesAndLosesNothing) {
    Pair pair({.timeout = 8, .retry_count = 3});
    arm(pair);
    pair.b.post_receive(1, 100, 3000);
    pair.wire.path(1).cut = true;
    const Nanoseconds start = pair.wire.now();

    pair.a.post_send(1, 0, 3000);
    pair.wire.run_until([&] { return pair.a.queue_pair->counters().migrations == 1; });
    EXPECT_EQ(pair.wire.now() - start, 4 * (4096LL << 8));
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_EQ(pair.b.receives().size(), 1u);
    EXPECT_THAT(pair.b.events(), Contains(EventKind::path_migrated));
}

// The retries of the old path are used up when the queue pair leaves it, by itself or behind its
// peer, and the new one needs all of them.
TEST(Migration, HasAllRetriesForTheOtherPath) {
    for (const bool follows : {false, true}) {
        Pair pair({.timeout = 8, .retry_count = 3});
        arm(pair);
        pair.wire.path(1).cut = true;
        pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
        pair.wire.run_until([&] { return pair.a.queue_pair->counters().timeouts == 3; });
        pair.wire.tap = [lost = 0](std::size_t from, std::vector<std::byte>& bytes) mutable {
            const bool is_write = decode(bytes).packet->row.kind == PacketKind::write;
            return from == 1 || !is_write || ++lost > 3;
        };

        (follows ? pair.b : pair.a).device->on_port_state(1, PortState::down);
        pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

        EXPECT_EQ(pair.a.sends().at(0).status, Status::success) << "follows: " << follows;
        EXPECT_EQ(port_of(pair.a), 2);
    }
}

TEST(Migration, OnCarrierLossIsImmediate) {
    Pair pair({.timeout = 20});
    arm(pair);
    pair.b.post_receive(1, 0, 1 << 20);
    pair.a.post_send(1, 0, 900'000);
    pair.wire.run_for(8'000);

    pair.wire.cut(1);
    const Nanoseconds start = pair.wire.now();
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

    EXPECT_LT(pair.wire.now() - start, 1'000'000);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_EQ(pair.b.receives().size(), 1u);
    EXPECT_EQ(pair.a.queue_pair->counters().timeouts, 0u);
}

TEST(Migration, OfAReceiverThatLostItsCarrierIsTakenUpByTheSender) {
    Pair pair({.timeout = 20});
    arm(pair);
    pair.a.post(Operation::write, 1, pair.a.slice(0, 900'000), pair.b, 0);
    pair.wire.run_for(8'000);

    pair.wire.path(1).cut = true;
    pair.b.device->on_port_state(1, PortState::down);
    const Nanoseconds start = pair.wire.now();
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_LT(pair.wire.now() - start, 1'000'000);
}

TEST(Migration, IsAnnouncedUntilThePeerFollows) {
    DeviceConfig config{.port_count = 2};
    config.probe_ns = 100'000;
    Pair pair({.timeout = 20}, config);
    arm(pair);
    int lost = 0;
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>&) {
        return from == 0 || ++lost > 5;
    };

    pair.wire.path(1).cut = true;
    pair.b.device->on_port_state(1, PortState::down);
    const Nanoseconds start = pair.wire.now();
    pair.a.post(Operation::write, 1, pair.a.slice(0, 10'000), pair.b, 0);
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

    EXPECT_EQ(lost, 7);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_LT(pair.wire.now() - start, 5'000'000);
    pair.wire.run_until(idle);
    EXPECT_EQ(pair.b.device->next_deadline(), never);
}

// As the servers of perftest's bandwidth tests: never ready to send.
TEST(Migration, IsForAPeerThatOnlyReceivesToo) {
    Wire wire({.port_count = 2}, 1);
    Peer a = make_peer(wire, 0, {.timeout = 20});
    Peer b = make_peer(wire, 1, {.timeout = 20});
    connect(a);
    get_ready_to_receive(b);
    ASSERT_EQ(a.rearm(), 0);
    ASSERT_EQ(b.rearm(), 0);
    a.post(Operation::write, 1, a.slice(0, 8), b, 0);
    wire.run_until(idle);
    ASSERT_EQ(migration_of(a), Migration::armed);
    ASSERT_EQ(migration_of(b), Migration::armed);

    a.post(Operation::write, 2, a.slice(0, 900'000), b, 0);
    wire.run_for(8'000);
    wire.cut(1);
    const Nanoseconds start = wire.now();
    wire.run_until([&] { return a.send_queue->size() > 1; });

    EXPECT_EQ(a.sends().at(1).status, Status::success);
    EXPECT_LT(wire.now() - start, 1'000'000);
    EXPECT_EQ(port_of(b), 2);
}

TEST(Migration, WithoutACarrierOnTheOtherPortIsReportedAsAnError) {
    Pair pair;
    arm(pair);
    pair.a.device->on_port_state(2, PortState::down);
    pair.a.device->on_port_state(1, PortState::down);

    EXPECT_THAT(pair.a.events(), Contains(EventKind::path_migration_error));
    EXPECT_EQ(migration_of(pair.a), Migration::armed);
}

TEST(Migration, OfAPeerOnAPathThatIsNotTheAlternateIsReportedAsAnErrorOnce) {
    Pair pair({.timeout = 8, .retry_count = 1});
    arm(pair);
    pair.wire.tap = [&](std::size_t from, std::vector<std::byte>& bytes) {
        Arrival arrival{.port = 1, .source_udp_port = 0xc000};
        arrival.source = address_of(Family::ipv4, 0, 2);
        arrival.destination = address_of(Family::ipv4, 1, 2);
        if (from == 0) {
            pair.wire.deliver(1, bytes, arrival);
        }
        return from != 0;
    };

    pair.a.migrate();
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_THAT(pair.b.events(), ElementsAre(EventKind::path_migration_error));
    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
}

// As path protection does for a queue pair that stays ready to receive for a while.
TEST(Migration, ToAPathThatWasLoadedBeforeTheTimeoutWasKnownKeepsTheTimeout) {
    Wire wire({.port_count = 2}, 1);
    Peer a = make_peer(wire, 0, {.timeout = 0});
    Peer b = make_peer(wire, 1, {.timeout = 8});
    connect(b);
    get_ready_to_receive(a);
    ASSERT_EQ(a.rearm(), 0);
    a.options.timeout = 8;
    a.options.retry_count = 1;
    get_ready_to_send(a);
    ASSERT_EQ(b.rearm(), 0);
    a.post(Operation::write, 1, a.slice(0, 8), b, 0);
    b.post(Operation::write, 1, b.slice(0, 8), a, 0);
    wire.run_until(idle);
    ASSERT_EQ(migration_of(a), Migration::armed);
    ASSERT_EQ(a.migrate(), 0);
    wire.run_until(idle);
    a.sends();

    wire.cut(2);
    a.post(Operation::write, 2, a.slice(0, 8), b, 0);
    wire.run_until(idle);

    EXPECT_EQ(a.sends().at(0).status, Status::retry_exceeded);
}

TEST(Migration, NotArmedLeavesAQueuePairToItsRetries) {
    Pair pair({.timeout = 8, .retry_count = 2});
    ASSERT_EQ(pair.a.rearm(), 0);
    pair.wire.cut(1);
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
    EXPECT_EQ(port_of(pair.a), 1);
}

TEST(Migration, OnCommandLosesNothingOfAnUnreliableConnection) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Pair pair(
            {.transport = Transport::uc, .memory_bytes = traffic_memory_bytes, .signal_all = false},
            {.port_count = 2}, seed);
        Traffic traffic(pair, seed, {.receives_first = true});
        ASSERT_EQ(pair.a.rearm(), 0);
        ASSERT_EQ(pair.b.rearm(), 0);
        while (migration_of(pair.a) != Migration::armed ||
               migration_of(pair.b) != Migration::armed) {
            traffic.round();
        }
        pair.a.migrate();

        EXPECT_TRUE(traffic.finish(second_ns));
        EXPECT_THAT(traffic.mistakes(), IsEmpty()) << "seed " << seed;
        EXPECT_EQ(port_of(pair.b), 2);
    }
}

// Cuts a path, commands a migration, or lets the peer do it, again and again under traffic.
TEST(Migration, UnderAnyTrafficLosesAndDuplicatesNothing) {
    std::uint64_t migrations = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::mt19937_64 random(seed);
        Options options{.timeout = 8, .memory_bytes = traffic_memory_bytes, .signal_all = false};
        options.mtu = static_cast<Mtu>(1 + random() % 5);
        Pair pair(options, {.port_count = 2}, seed);
        pair.wire.all_paths({.loss = 0.01 * static_cast<double>(random() % 3),
                             .duplicate = 0.02,
                             .delay_ns = static_cast<Nanoseconds>(1000 + random() % 9000)});
        Traffic traffic(pair, seed, {.requests = 100});
        std::uint8_t from = 1;
        for (bool done = false; !done; done = traffic.round()) {
            const auto other = static_cast<std::uint8_t>(3 - from);
            if (migration_of(pair.a) == Migration::armed &&
                migration_of(pair.b) == Migration::armed) {
                switch (random() % 4) {
                    case 0: pair.wire.cut(from); break;
                    case 1: pair.wire.path(from).cut = true; break;
                    case 2: pair.a.migrate(); break;
                    default: pair.b.migrate();
                }
            } else if (port_of(pair.a) == other && port_of(pair.b) == other) {
                pair.wire.mend(from);
                ASSERT_EQ(pair.a.rearm(from), 0);
                ASSERT_EQ(pair.b.rearm(from), 0);
                from = other;
            } else if (migration_of(pair.a) == Migration::migrated && port_of(pair.a) == from &&
                       port_of(pair.b) == from) {
                pair.a.rearm(other);
                pair.b.rearm(other);
            }
            ASSERT_LT(pair.wire.now(), 60 * second_ns) << "seed " << seed;
            ASSERT_THAT(traffic.failures(), IsEmpty()) << "seed " << seed;
        }
        ASSERT_THAT(traffic.mistakes(), IsEmpty()) << "seed " << seed;
        migrations += pair.a.queue_pair->counters().migrations;
    }
    EXPECT_GT(migrations, 100u);
}

}  // namespace
}  // namespace lanewise::verbs::testing
