// SPDX-License-Identifier: BSD-3-Clause
//
// Protected queue pairs: an alternate path counts when the peer has answered on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verbs/proto/testing/traffic.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::IsEmpty;

constexpr Nanoseconds ms = 1'000'000;
constexpr DeviceConfig protecting{.port_count = 2,
                                  .probe_ns = 500'000,
                                  .retry_window_ns = 10'000 * ms,
                                  .confirm_alternates = true};

void write(Peer& from, const Peer& to) {
    ASSERT_EQ(from.post(Operation::write, 1, from.slice(0, 8), to, 0), 0);
}

struct Confirmation : ::testing::Test {
    Pair pair{{.timeout = 14}, protecting};

    void arm() {
        ASSERT_EQ(pair.a.rearm(), 0);
        ASSERT_EQ(pair.b.rearm(), 0);
        pair.wire.run_for(ms);
        ASSERT_EQ(migration_of(pair.a), Migration::armed);
        ASSERT_EQ(migration_of(pair.b), Migration::armed);
    }
};

TEST_F(Confirmation, ArmsAPairWithoutTraffic) {
    arm();
}

TEST_F(Confirmation, IsNotWhatArrivesOnThePrimaryPath) {
    pair.wire.path(2).cut = true;
    ASSERT_EQ(pair.a.rearm(), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    for (int i = 0; i < 20; ++i) {
        write(pair.a, pair.b);
        write(pair.b, pair.a);
        pair.wire.run_for(ms);
    }
    EXPECT_EQ(migration_of(pair.a), Migration::rearm);
    EXPECT_EQ(migration_of(pair.b), Migration::rearm);

    pair.wire.path(2).cut = false;
    pair.wire.run_for(100 * ms);
    EXPECT_EQ(migration_of(pair.a), Migration::armed);
    EXPECT_EQ(migration_of(pair.b), Migration::armed);
}

TEST_F(Confirmation, DoesNotComeFromAnotherHost) {
    Attributes wanted;
    wanted.alternate = {.address = pair.a.vector(2), .timeout = 14};
    wanted.alternate.address.destination = address_of(Family::ipv4, 7, 2);
    wanted.migration = Migration::rearm;
    ASSERT_EQ(pair.a.queue_pair->modify(wanted, alternate_path_attribute | migration_attribute), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    write(pair.a, pair.b);
    pair.wire.run_for(100 * ms);

    EXPECT_EQ(migration_of(pair.a), Migration::rearm);
    EXPECT_EQ(migration_of(pair.b), Migration::rearm);
}

TEST_F(Confirmation, IsAskedForMoreAndMoreRarely) {
    ASSERT_EQ(pair.a.rearm(), 0);
    const std::uint64_t before = pair.wire.datagrams;
    pair.wire.run_for(4000 * ms);
    EXPECT_GT(pair.wire.datagrams - before, 8u);
    EXPECT_LT(pair.wire.datagrams - before, 20u);
}

TEST_F(Confirmation, IsAskedForAtOnceWhenThePortHasACarrierAgain) {
    pair.wire.cut(2);
    ASSERT_EQ(pair.a.rearm(), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    pair.wire.run_for(2000 * ms);
    ASSERT_EQ(migration_of(pair.a), Migration::rearm);
    ASSERT_EQ(migration_of(pair.b), Migration::rearm);

    pair.wire.mend(2);
    pair.wire.run_for(ms);
    EXPECT_EQ(migration_of(pair.a), Migration::armed);
    EXPECT_EQ(migration_of(pair.b), Migration::armed);
}

// What comes from the peer does not show that anything gets there.
TEST_F(Confirmation, IsNotAPathThatIsWholeInOneDirection) {
    pair.wire.path(2).deaf = 1;
    ASSERT_EQ(pair.a.rearm(), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    pair.wire.run_for(100 * ms);
    EXPECT_EQ(migration_of(pair.a), Migration::rearm);
    EXPECT_EQ(migration_of(pair.b), Migration::rearm);

    pair.wire.path(2).deaf.reset();
    pair.wire.run_for(200 * ms);
    EXPECT_EQ(migration_of(pair.a), Migration::armed);
    EXPECT_EQ(migration_of(pair.b), Migration::armed);
}

// One has moved, and the other has not heard of it: each has the other's path for its alternate.
TEST_F(Confirmation, OfPathsThatCrossComesOnThePathOfTheQuestion) {
    arm();
    pair.wire.path(2).cut = true;
    ASSERT_EQ(pair.a.migrate(), 0);
    ASSERT_EQ(pair.a.rearm(1), 0);
    pair.wire.path(2).cut = false;
    pair.wire.run_for(100 * ms);
    EXPECT_EQ(port_of(pair.a), 2);
    EXPECT_EQ(port_of(pair.b), 1);
    EXPECT_EQ(migration_of(pair.a), Migration::armed);
    EXPECT_EQ(migration_of(pair.b), Migration::armed);
}

TEST_F(Confirmation, IsGivenByOneThatOnlyReceives) {
    Pair fresh({.timeout = 14}, protecting);
    Attributes wanted = fresh.b.attributes();
    ASSERT_EQ(fresh.b.modify_state(State::reset), 0);
    wanted.state = State::init;
    ASSERT_EQ(fresh.b.queue_pair->modify(wanted, init_mask), 0);
    wanted.state = State::ready_to_receive;
    ASSERT_EQ(fresh.b.queue_pair->modify(wanted, rc_receive_mask), 0);
    ASSERT_EQ(fresh.a.rearm(), 0);
    ASSERT_EQ(fresh.b.rearm(), 0);
    fresh.wire.run_for(10 * ms);
    EXPECT_EQ(migration_of(fresh.a), Migration::armed);
    EXPECT_EQ(migration_of(fresh.b), Migration::armed);
}

TEST_F(Confirmation, OneThatBeginsOnADeadPortLeavesItAtOnceAndThePeerFollows) {
    pair.wire.path(1).cut = true;
    pair.a.device->on_port_state(1, PortState::down);
    ASSERT_EQ(pair.a.rearm(), 0);
    EXPECT_EQ(port_of(pair.a), 2);
    pair.wire.run_for(2000 * ms);  // the peer is set up much later
    ASSERT_EQ(pair.b.rearm(), 0);
    const Nanoseconds begin = pair.wire.now();
    write(pair.b, pair.a);
    EXPECT_TRUE(pair.wire.run_until([&] { return pair.b.send_queue->size() > 0; }));
    EXPECT_LT(pair.wire.now() - begin, 1100 * ms);
    EXPECT_EQ(pair.b.sends().at(0).status, Status::success);
    EXPECT_EQ(port_of(pair.b), 2);
}

// The carrier is there, and nothing passes: a fault in a switch.
TEST_F(Confirmation, ASilentPathIsLeftBeforeAllRetriesAreUsed) {
    arm();
    pair.wire.path(1).cut = true;
    const Nanoseconds begin = pair.wire.now();
    write(pair.a, pair.b);
    EXPECT_TRUE(pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; }));
    EXPECT_LT(pair.wire.now() - begin, 300 * ms);
    EXPECT_EQ(port_of(pair.a), 2);
    EXPECT_EQ(port_of(pair.b), 2);
    EXPECT_EQ(pair.a.queue_pair->cause_of_migration(1), MigrationCause::silence);
}

// Programs that connect by rdma_cm have the longest timer, 655 ms.
TEST_F(Confirmation, APathIsNotSilentWhileTheReceiverIsNotReady) {
    Pair waiting({.timeout = 14, .rnr_timer = 0}, protecting);
    waiting.wire.path(1).delay_ns = 2 * ms;  // longer than the first wait for an answer
    ASSERT_EQ(waiting.a.rearm(), 0);
    ASSERT_EQ(waiting.b.rearm(), 0);
    waiting.wire.run_for(10 * ms);
    ASSERT_EQ(migration_of(waiting.a), Migration::armed);
    waiting.a.post_send(1, 0, 8);
    waiting.wire.run_for(2000 * ms);
    waiting.b.post_receive(1, 0, 8);

    EXPECT_TRUE(waiting.wire.run_until([&] { return waiting.a.send_queue->size() > 0; }));

    EXPECT_EQ(waiting.a.sends().at(0).status, Status::success);
    EXPECT_EQ(waiting.a.queue_pair->counters().migrations, 0u);
    EXPECT_GE(waiting.a.queue_pair->counters().rnr_naks_received, 3u);
}

TEST_F(Confirmation, UnderTrafficAndCutsLosesAndDuplicatesNothing) {
    std::uint64_t migrations = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        Pair rounds({.timeout = 12, .memory_bytes = traffic_memory_bytes, .signal_all = false},
                    protecting, seed);
        rounds.wire.all_paths({.loss = 0.01 * static_cast<double>(random() % 3)});
        Traffic traffic(rounds, seed, {.requests = 100});
        std::uint8_t out = 0;
        for (bool done = false; !done; done = traffic.round()) {
            for (Peer *peer : {&rounds.a, &rounds.b}) {
                if (migration_of(*peer) == Migration::migrated && random() % 8 == 0) {
                    peer->rearm(static_cast<std::uint8_t>(3 - port_of(*peer)));
                }
            }
            if (out != 0 && random() % 8 == 0) {
                rounds.wire.mend(out);
                out = 0;
            } else if (out == 0 && random() % 8 == 0) {
                out = static_cast<std::uint8_t>(1 + random() % 2);
                if (random() % 2 == 0) {
                    rounds.wire.cut(out);
                } else {  // only one end notices
                    rounds.wire.path(out).cut = true;
                    rounds.wire.device(random() % 2).on_port_state(out, PortState::down);
                }
            }
            ASSERT_LT(rounds.wire.now(), 60'000 * ms) << "seed " << seed;
            ASSERT_THAT(traffic.failures(), IsEmpty()) << "seed " << seed;
        }
        ASSERT_THAT(traffic.mistakes(), IsEmpty()) << "seed " << seed;
        migrations += rounds.a.queue_pair->counters().migrations;
    }
    EXPECT_GT(migrations, 50u);
}

}  // namespace
}  // namespace lanewise::verbs::testing
