// SPDX-License-Identifier: BSD-3-Clause
//
// The states of a queue pair: which attributes each transition requires and allows, and what resets
// and errors do to work that was posted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

constexpr std::uint32_t every_bit = 0x1fffff;

struct Step {
    State from;
    State to;
    std::uint32_t required;
};

std::vector<Step> steps(Transport transport) {
    const bool rc = transport == Transport::rc;
    const bool ud = transport == Transport::ud;
    const std::uint32_t init = init_mask - state_attribute;
    const std::uint32_t receive = (rc ? rc_receive_mask : uc_receive_mask) - state_attribute;
    return {{State::reset, State::init, ud ? init - access_attribute + qkey_attribute : init},
            {State::init, State::ready_to_receive, ud ? 0 : receive},
            {State::ready_to_receive, State::ready_to_send,
             (rc ? rc_send_mask : uc_send_mask) - state_attribute}};
}

// A queue pair brought to `state` on the usual way.
Peer peer_in(Wire& wire, Transport transport, State state) {
    Peer peer = make_peer(wire, 0, {.transport = transport});
    Attributes wanted = peer.attributes();
    for (const Step& step : steps(transport)) {
        if (peer.queue_pair->state() != state) {
            wanted.state = step.to;
            EXPECT_EQ(peer.queue_pair->modify(wanted, step.required | state_attribute), 0);
        }
    }
    return peer;
}

class Modify : public ::testing::TestWithParam<Transport> {};

TEST_P(Modify, NeedsEachAttributeThatTheStepRequires) {
    for (const Step& step : steps(GetParam())) {
        for (std::uint32_t bit = 2; bit <= every_bit; bit <<= 1) {
            if ((step.required & bit) == 0) {
                continue;
            }
            Wire wire({}, 1);
            Peer peer = peer_in(wire, GetParam(), step.from);
            Attributes wanted = peer.attributes();
            wanted.state = step.to;

            EXPECT_EQ(peer.queue_pair->modify(wanted, (step.required & ~bit) | state_attribute),
                      EINVAL);
            EXPECT_EQ(peer.queue_pair->state(), step.from);
        }
    }
}

TEST_P(Modify, RefusesStepsThatSkipAState) {
    constexpr State all[] = {State::reset, State::init, State::ready_to_receive,
                             State::ready_to_send};
    for (std::size_t from = 0; from < 4; ++from) {
        for (std::size_t to = 1; to < 4; ++to) {
            if (to == from + 1) {
                continue;
            }
            Wire wire({}, 1);
            Peer peer = peer_in(wire, GetParam(), all[from]);
            Attributes wanted = peer.attributes();
            wanted.state = all[to];
            const bool stays = from == to && from != 2;

            EXPECT_EQ(peer.queue_pair->modify(wanted, state_attribute), stays ? 0 : EINVAL)
                << from << " to " << to;
        }
    }
}

TEST_P(Modify, ResetsAndFailsFromEveryState) {
    for (const State from : {State::init, State::ready_to_receive, State::ready_to_send}) {
        for (const State to : {State::reset, State::error}) {
            Wire wire({}, 1);
            Peer peer = peer_in(wire, GetParam(), from);

            EXPECT_EQ(peer.modify_state(to), 0);
            EXPECT_EQ(peer.queue_pair->state(), to);
            EXPECT_EQ(peer.modify_state(State::reset), 0);
        }
    }
}

TEST_P(Modify, TakesNoOtherMaskThanTheTablesSay) {
    // Attributes that no transport may give while it runs.
    for (const std::uint32_t never_running :
         {port_attribute, path_mtu_attribute, receive_psn_attribute, send_psn_attribute,
          destination_qpn_attribute, read_atomic_attribute, timeout_attribute}) {
        Wire wire({}, 1);
        Peer peer = peer_in(wire, GetParam(), State::ready_to_send);

        EXPECT_EQ(peer.queue_pair->modify(peer.attributes(), never_running), EINVAL);
    }
}

INSTANTIATE_TEST_SUITE_P(EveryTransport, Modify,
                         ::testing::Values(Transport::rc, Transport::uc, Transport::ud));

TEST(ModifyValues, OutOfRangeAreRefusedAndChangeNothing) {
    using Spoil = void (*)(Attributes&);
    const std::vector<Spoil> spoils{
        [](Attributes& a) { a.path_mtu = static_cast<Mtu>(6); },
        [](Attributes& a) { a.path_mtu = static_cast<Mtu>(0); },
        [](Attributes& a) { a.primary.address.port = 2; },
        [](Attributes& a) { a.rnr_timer = 32; },
        [](Attributes& a) { a.destination_qpn = 1 << 24; },
        [](Attributes& a) { a.destination_read_atomic_max = 17; },
    };
    for (const Spoil spoil : spoils) {
        Wire wire({}, 1);
        Peer peer = peer_in(wire, Transport::rc, State::init);
        Attributes wanted = peer.attributes();
        wanted.state = State::ready_to_receive;
        spoil(wanted);

        EXPECT_EQ(peer.queue_pair->modify(wanted, rc_receive_mask), EINVAL);
        EXPECT_EQ(peer.queue_pair->state(), State::init);
        EXPECT_EQ(peer.queue_pair->query().destination_qpn, 0u);
    }
}

TEST(ModifyValues, AreReturnedByAQuery) {
    Pair pair({.mtu = Mtu::b2048, .timeout = 9});

    const Attributes attributes = pair.a.queue_pair->query();

    EXPECT_EQ(attributes.state, State::ready_to_send);
    EXPECT_EQ(attributes.current_state, State::ready_to_send);
    EXPECT_EQ(attributes.path_mtu, Mtu::b2048);
    EXPECT_EQ(attributes.primary.timeout, 9);
    EXPECT_EQ(attributes.primary.address, pair.a.vector(1));
    EXPECT_EQ(attributes.destination_qpn, pair.b.queue_pair->number());
    EXPECT_EQ(attributes.retry_count, 7);
}

TEST(ModifyValues, ThatExceedTheirBitsAreRefusedOnTheWayToSend) {
    using Spoil = void (*)(Attributes&);
    const std::vector<Spoil> spoils{
        [](Attributes& a) { a.primary.timeout = 32; },
        [](Attributes& a) { a.retry_count = 8; },
        [](Attributes& a) { a.rnr_retry = 8; },
        [](Attributes& a) { a.read_atomic_max = 17; },
    };
    for (const Spoil spoil : spoils) {
        Wire wire({}, 1);
        Peer peer = peer_in(wire, Transport::rc, State::ready_to_receive);
        Attributes wanted = peer.attributes();
        wanted.state = State::ready_to_send;
        spoil(wanted);

        EXPECT_EQ(peer.queue_pair->modify(wanted, rc_send_mask), EINVAL);
        EXPECT_EQ(peer.queue_pair->state(), State::ready_to_receive);
    }
}

TEST(ModifyValues, OfAPathThatTheMaskLacksAreNotTaken) {
    Pair pair;
    Attributes wanted = pair.a.queue_pair->query();
    const auto before = wanted.alternate.timeout;
    ++wanted.alternate.timeout;

    ASSERT_EQ(pair.a.queue_pair->modify(wanted, rnr_timer_attribute), 0);

    EXPECT_EQ(pair.a.queue_pair->query().alternate.timeout, before);
}

TEST(ModifyValues, WithAWrongCurrentStateAreRefused) {
    Pair pair;
    Attributes wanted;
    wanted.current_state = State::send_queue_drained;
    EXPECT_EQ(pair.a.queue_pair->modify(wanted, current_state_attribute), EINVAL);
}

TEST(Draining, FinishesWhatHasBegunAndKeepsTheRest) {
    DeviceConfig config{.port_count = 2};
    config.window_bytes = 8192;
    Pair pair({}, config);
    pair.a.post(Operation::write, 1, pair.a.slice(0, 50'000), pair.b, 0);
    pair.a.post(Operation::write, 2, pair.a.slice(0, 50'000), pair.b, 0);
    pair.wire.run_for(1);

    Attributes wanted;
    wanted.state = State::send_queue_drained;
    wanted.drained_notice = true;
    ASSERT_EQ(pair.a.queue_pair->modify(wanted, state_attribute | drained_notice_attribute), 0);
    EXPECT_TRUE(pair.a.queue_pair->query().draining);
    pair.wire.run_until([] { return false; });

    EXPECT_EQ(pair.a.sends().size(), 1u);
    EXPECT_THAT(pair.a.events(), ElementsAre(EventKind::send_queue_drained));
    EXPECT_FALSE(pair.a.queue_pair->query().draining);

    ASSERT_EQ(pair.a.modify_state(State::ready_to_send), 0);
    pair.wire.run_until([] { return false; });
    EXPECT_EQ(pair.a.sends().size(), 1u);
}

// A long read is requested in pieces, and what is sent unreliably is never in flight.
TEST(Draining, IsReportedBehindTheMessageThatHadBegun) {
    for (const Transport transport : {Transport::rc, Transport::uc}) {
        const bool reliable = transport == Transport::rc;
        Pair pair({.transport = transport, .read_atomic = 1});
        bool has_begun = false;
        bool drained_too_early = false;
        pair.wire.tap = [&](std::size_t from, std::vector<std::byte>&) {
            if (!has_begun && from == 0) {
                has_begun = true;
                Attributes wanted;
                wanted.state = State::send_queue_drained;
                wanted.drained_notice = true;
                pair.a.queue_pair->modify(wanted, state_attribute | drained_notice_attribute);
            }
            const bool is_done = pair.a.send_queue->size() > 0;
            drained_too_early |= !is_done && !pair.a.queue_pair->query().draining;
            return true;
        };
        pair.a.send_queue->arm(Wanted::any);

        pair.a.post(reliable ? Operation::read : Operation::write, 1, pair.a.slice(0, 1 << 20),
                    pair.b, 0);
        pair.wire.run_until(idle);

        EXPECT_THAT(pair.a.events(),
                    ElementsAre(EventKind::completion, EventKind::send_queue_drained));
        EXPECT_FALSE(drained_too_early);
        EXPECT_FALSE(pair.a.queue_pair->query().draining);
    }
}

TEST(Resetting, ForgetsEverythingAndCanConnectAgain) {
    Pair pair;
    pair.a.post_receive(1, 0, 10);
    pair.a.post(Operation::read, 1, pair.a.slice(0, 50'000), pair.b, 0);
    pair.wire.run_for(1);
    for (Peer *peer : {&pair.a, &pair.b}) {
        ASSERT_EQ(peer->modify_state(State::reset), 0);
        EXPECT_EQ(peer->sends().size() + peer->receives().size(), 0u);
    }
    pair.wire.run_until([] { return false; });
    connect(pair.a);
    connect(pair.b);
    pair.b.post_receive(2, 0, 10);
    pair.a.post_send(2, 0, 10);
    pair.wire.run_until([] { return false; });

    EXPECT_EQ(pair.a.sends().size(), 1u);
    EXPECT_EQ(pair.b.receives().size(), 1u);
}

TEST(Resetting, TakesCompletionsThatNobodyPolledOutOfTheQueues) {
    Wire wire({}, 1);
    Peer peer = peer_in(wire, Transport::rc, State::ready_to_receive);
    peer.post_receive(1, 0, 10);
    ASSERT_EQ(peer.modify_state(State::error), 0);
    ASSERT_EQ(peer.queue_pair->init().receive_queue->size(), 1u);
    ASSERT_EQ(peer.modify_state(State::reset), 0);
    EXPECT_EQ(peer.queue_pair->init().receive_queue->size(), 0u);
}

TEST(FirstPacket, BeforeReadyToSendReportsThatTheConnectionIsEstablished) {
    Wire wire({.port_count = 2}, 1);
    Peer a = make_peer(wire, 0, {});
    Peer b = make_peer(wire, 1, {});
    connect(a);
    Attributes wanted = b.attributes();
    wanted.state = State::init;
    b.queue_pair->modify(wanted, init_mask);
    wanted.state = State::ready_to_receive;
    b.queue_pair->modify(wanted, rc_receive_mask);
    b.post_receive(1, 0, 10);
    b.post_receive(2, 0, 10);
    a.post_send(1, 0, 10);
    a.post_send(2, 0, 10);
    wire.run_until([] { return false; });

    EXPECT_THAT(b.events(), ElementsAre(EventKind::communication_established));
    EXPECT_EQ(a.sends().size(), 2u);
}

}  // namespace
}  // namespace lanewise::verbs::testing
