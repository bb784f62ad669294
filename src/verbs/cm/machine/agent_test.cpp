// SPDX-License-Identifier: BSD-3-Clause
//
// Two connection managers on a network in virtual time.

#include "verbs/cm/machine/agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <random>
#include <vector>

namespace lanewise::verbs::cm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Address caller_address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 1};
constexpr Address listener_address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 2};
constexpr Address stranger_address{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, 9};
constexpr std::uint64_t service = 0x01061234;
constexpr Nanoseconds flight_ns = 10'000;
constexpr Timing timing;
constexpr Nanoseconds response_ns = Nanoseconds{4096} << 18;

Message request() {
    Message made;
    made.service = service;
    made.qpn = 0x100;
    made.path_mtu = 3;
    return made;
}

Message reply() {
    Message made;
    made.qpn = 0x200;
    return made;
}

struct Network {
    Agent caller{timing, 1U << 22, 1U << 22, 1};
    Agent listener{timing, 2U << 22, 1U << 22, 2};
    Nanoseconds now = 0;
    struct Flying {
        Nanoseconds at = 0;
        OutgoingMessage outgoing;
    };
    std::vector<Flying> flying;
    std::vector<Kind> sent;
    // How many copies of a message arrive, and when.
    std::function<std::vector<Nanoseconds>(const OutgoingMessage&)> fate =
        [](const OutgoingMessage&) { return std::vector{flight_ns}; };
    std::vector<ConnectionEvent> of_caller;
    std::vector<ConnectionEvent> of_listener;

    Network() { listener.listen(service, no_address, 7, 16); }

    void collect(Agent& from, std::vector<ConnectionEvent>& into) {
        while (const auto outgoing = from.poll_message()) {
            sent.push_back(outgoing->message.kind);
            for (const Nanoseconds delay : fate(*outgoing))
                flying.push_back({now + delay, *outgoing});
        }
        while (const auto event = from.poll_event()) into.push_back(*event);
    }

    void settle() {
        collect(caller, of_caller);
        collect(listener, of_listener);
    }

    void deliver(const OutgoingMessage& outgoing) {
        // Messages go through their bytes, as on a wire.
        const auto message = decode_message(encode(outgoing.message));
        ASSERT_TRUE(message);
        Agent& to = outgoing.ends.destination == caller_address ? caller : listener;
        to.on_message(*message, outgoing.ends, now);
    }

    void run_until(Nanoseconds end) {
        settle();
        for (;;) {
            const auto first =
                std::min_element(flying.begin(), flying.end(),
                                 [](const auto& a, const auto& b) { return a.at < b.at; });
            const Nanoseconds arrival = first == flying.end() ? never : first->at;
            const Nanoseconds next =
                std::min({arrival, caller.next_deadline(), listener.next_deadline()});
            if (next > end) break;
            now = next;
            if (arrival == next) {
                const OutgoingMessage outgoing = first->outgoing;
                flying.erase(first);
                deliver(outgoing);
            }
            caller.on_deadline(now);
            listener.on_deadline(now);
            settle();
        }
        now = std::max(now, end);
    }
    void run() { run_until(now + 100 * flight_ns); }

    std::uint32_t call() {
        return caller.connect(request(), {caller_address, listener_address}, now);
    }

    // The whole way to a connection; the numbers at both ends.
    std::pair<std::uint32_t, std::uint32_t> connected() {
        const std::uint32_t id = call();
        run();
        const std::uint32_t other = of_listener.back().id;
        listener.accept(other, reply(), now);
        run();
        caller.establish(id, now);
        run();
        return {id, other};
    }
};

std::vector<ConnectionEventKind> kinds(const std::vector<ConnectionEvent>& events) {
    std::vector<ConnectionEventKind> made;
    for (const ConnectionEvent& one : events) made.push_back(one.kind);
    return made;
}

TEST(Agent, ThreeMessagesMakeAConnectionAndTwoEndIt) {
    Network net;
    const auto [id, other] = net.connected();
    EXPECT_THAT(net.sent, ElementsAre(Kind::request, Kind::reply, Kind::ready));
    EXPECT_THAT(kinds(net.of_caller), ElementsAre(ConnectionEventKind::response));
    EXPECT_THAT(kinds(net.of_listener),
                ElementsAre(ConnectionEventKind::request, ConnectionEventKind::established));
    EXPECT_EQ(net.of_listener[0].listener, 7U);
    EXPECT_EQ(net.of_listener[0].message.qpn, 0x100U);
    EXPECT_EQ(net.of_caller[0].message.qpn, 0x200U);
    EXPECT_EQ(net.caller.disconnect(id, net.now), 0);
    net.run();
    EXPECT_THAT(kinds(net.of_caller),
                ElementsAre(ConnectionEventKind::response, ConnectionEventKind::disconnected));
    EXPECT_EQ(net.of_listener.back().kind, ConnectionEventKind::disconnected);
    EXPECT_EQ(net.listener.disconnect(other, net.now), 0) << "the peer has done it already";
    net.run_until(net.now + timing.time_wait_ns);
    EXPECT_EQ(net.of_caller.back().kind, ConnectionEventKind::time_wait_over);
    EXPECT_EQ(net.caller.connections() + net.listener.connections(), 0U);
    EXPECT_EQ(net.sent.size(), 5U);
}

class EachMessage : public testing::TestWithParam<Kind> {};

TEST_P(EachMessage, ThatIsLostIsMadeGoodByAnother) {
    Network net;
    bool lost = false;
    net.fate = [&](const OutgoingMessage& outgoing) {
        const bool loses = !lost && outgoing.message.kind == GetParam();
        lost = lost || loses;
        return loses ? std::vector<Nanoseconds>{} : std::vector{flight_ns};
    };
    const std::uint32_t id = net.call();
    net.run_until(2 * response_ns);
    ASSERT_EQ(kinds(net.of_listener), std::vector{ConnectionEventKind::request});
    net.listener.accept(net.of_listener[0].id, reply(), net.now);
    while (net.of_caller.empty()) net.run_until(net.now + response_ns / 4);
    EXPECT_EQ(net.caller.establish(id, net.now), 0);
    net.run_until(net.now + 2 * response_ns);
    EXPECT_THAT(kinds(net.of_listener),
                ElementsAre(ConnectionEventKind::request, ConnectionEventKind::established));
    net.caller.disconnect(id, net.now);
    net.run_until(net.now + 2 * response_ns + timing.time_wait_ns);
    EXPECT_TRUE(lost);
    EXPECT_THAT(
        kinds(net.of_listener),
        ElementsAre(ConnectionEventKind::request, ConnectionEventKind::established,
                    ConnectionEventKind::disconnected, ConnectionEventKind::time_wait_over));
    EXPECT_THAT(kinds(net.of_caller),
                ElementsAre(ConnectionEventKind::response, ConnectionEventKind::disconnected,
                            ConnectionEventKind::time_wait_over));
}

INSTANTIATE_TEST_SUITE_P(Agent, EachMessage,
                         testing::Values(Kind::request, Kind::reply, Kind::ready, Kind::disconnect,
                                         Kind::disconnected));

TEST(Agent, WhoAcceptsACallerThatHasGoneIsToldAtOnce) {
    Network net;
    const std::uint32_t id = net.call();
    net.run();
    net.caller.forget(id, net.now);
    const std::uint32_t other = net.of_listener.back().id;
    EXPECT_EQ(net.listener.accept(other, reply(), net.now), 0);
    net.run();
    EXPECT_THAT(kinds(net.of_listener),
                ElementsAre(ConnectionEventKind::request, ConnectionEventKind::rejected));
    EXPECT_THAT(net.sent, ElementsAre(Kind::request, Kind::reply, Kind::rejection));
    EXPECT_EQ(net.listener.connections(), 0U);
}

TEST(Agent, WhereNobodyAnswersTheCallEndsAfterAllRetries) {
    Network net;
    net.fate = [](const OutgoingMessage&) { return std::vector<Nanoseconds>{}; };
    net.call();
    const Nanoseconds end = (timing.retries + 1) * response_ns;
    net.run_until(end - 1);
    EXPECT_THAT(net.of_caller, IsEmpty());
    EXPECT_EQ(net.sent.size(), timing.retries + 1U);
    net.run_until(end);
    EXPECT_THAT(kinds(net.of_caller), ElementsAre(ConnectionEventKind::unreachable));
    EXPECT_EQ(net.caller.connections(), 0U);
}

TEST(Agent, AServiceThatNobodyOffersIsRejectedAtOnce) {
    Network net;
    net.listener.stop_listening(7);
    net.call();
    net.run();
    ASSERT_THAT(kinds(net.of_caller), ElementsAre(ConnectionEventKind::rejected));
    EXPECT_EQ(net.of_caller[0].message.reason, 8);
    EXPECT_EQ(net.listener.counters().refused, 1U);
}

TEST(Agent, AServiceThatIsAboutToBeOfferedLetsTheCallerAskAgain) {
    Network net;
    net.listener.stop_listening(7);
    EXPECT_FALSE(net.listener.knows(service, listener_address));
    net.listener.reserve(service, no_address);
    EXPECT_TRUE(net.listener.knows(service, listener_address));
    net.call();
    net.run();
    EXPECT_THAT(net.of_caller, IsEmpty());
    EXPECT_TRUE(net.listener.listen(service, no_address, 9, 1));
    EXPECT_FALSE(net.listener.listen(service, no_address, 10, 1));
    net.run_until(2 * response_ns);
    EXPECT_THAT(kinds(net.of_listener), ElementsAre(ConnectionEventKind::request));
}

TEST(Agent, ARejectionBringsTheReasonAndThePrivateData) {
    Network net;
    net.call();
    net.run();
    net.listener.reject(net.of_listener[0].id, Reason::consumer, {std::byte{5}}, net.now);
    net.run();
    ASSERT_THAT(kinds(net.of_caller), ElementsAre(ConnectionEventKind::rejected));
    EXPECT_EQ(net.of_caller[0].message.reason, 28);
    EXPECT_EQ(net.of_caller[0].message.private_data[0], std::byte{5});
    EXPECT_EQ(net.caller.connections() + net.listener.connections(), 0U);
}

TEST(Agent, AProgramMayThinkForLongerThanAllRetries) {
    Network net;
    const std::uint32_t id = net.call();
    net.run_until(40 * response_ns);
    EXPECT_THAT(kinds(net.of_listener), ElementsAre(ConnectionEventKind::request))
        << "copies are one request";
    EXPECT_THAT(net.of_caller, IsEmpty());
    net.listener.accept(net.of_listener[0].id, reply(), net.now);
    net.run();
    EXPECT_EQ(net.caller.establish(id, net.now), 0);
}

TEST(Agent, BothMayDisconnectAtOnce) {
    Network net;
    const auto [id, other] = net.connected();
    net.caller.disconnect(id, net.now);
    net.listener.disconnect(other, net.now);
    net.run();
    EXPECT_EQ(net.of_caller.back().kind, ConnectionEventKind::disconnected);
    EXPECT_EQ(net.of_listener.back().kind, ConnectionEventKind::disconnected);
    EXPECT_EQ(net.of_caller.size(), 2U);
}

TEST(Agent, AListenerThatHasEnoughWaitingTakesNoMore) {
    Network net;
    net.listener.stop_listening(7);
    net.listener.listen(service, listener_address, 8, 2);
    for (int i = 0; i < 3; ++i) net.call();
    net.run();
    EXPECT_EQ(net.of_listener.size(), 2U);
    net.listener.accept(net.of_listener[0].id, reply(), net.now);
    net.run_until(2 * response_ns);
    EXPECT_EQ(net.of_listener.size(), 3U) << "the third has asked again";
}

TEST(Agent, ARequestThatTheProgramHasTakenLeavesItsPlaceToAnother) {
    Network net;
    net.listener.stop_listening(7);
    net.listener.listen(service, listener_address, 8, 1);
    for (std::size_t i = 0; i < 3; ++i) {
        net.call();
        net.run();
        ASSERT_EQ(net.of_listener.size(), i + 1U) << "none is accepted";
        net.listener.take_request(net.of_listener.back().id);
    }
    net.call();
    net.run();
    net.listener.reject(net.of_listener[0].id, Reason::consumer, {}, net.now);
    net.call();
    net.run();
    EXPECT_EQ(net.of_listener.size(), 4U) << "a place is left once";
}

TEST(Agent, APeerThatDoesNotAnswerADisconnectIsAbandoned) {
    Network net;
    const auto [id, other] = net.connected();
    net.fate = [](const OutgoingMessage&) { return std::vector<Nanoseconds>{}; };
    net.caller.disconnect(id, net.now);
    net.run_until(net.now + (timing.retries + 1) * response_ns);
    EXPECT_THAT(kinds(net.of_caller),
                ElementsAre(ConnectionEventKind::response, ConnectionEventKind::abandoned));
}

TEST(Agent, WhoAsksForAQueuePairForDatagramsWaitsForAMinute) {
    Network net;
    net.caller.resolve(request(), {caller_address, listener_address}, 0);
    net.run_until(58 * response_ns);
    EXPECT_THAT(net.of_caller, IsEmpty());
    ASSERT_THAT(kinds(net.of_listener), ElementsAre(ConnectionEventKind::datagram_request))
        << "not a second one";
    net.listener.answer(net.of_listener[0].id, reply(), net.now);
    net.run();
    EXPECT_THAT(kinds(net.of_caller), ElementsAre(ConnectionEventKind::datagram_reply));
}

TEST(Agent, MessagesOfOthersAreDroppedAndCounted) {
    Network net;
    const auto [id, other] = net.connected();
    const Endpoints true_ends{caller_address, listener_address};
    Message end;
    end.kind = Kind::disconnect;
    end.local_id = id;
    end.remote_id = other;
    end.qpn = 0x200;
    const auto unexpected = [&] { return net.listener.counters().unexpected; };

    net.listener.on_message(end, {stranger_address, listener_address}, net.now);
    EXPECT_EQ(unexpected(), 1U);
    Message wrong = end;
    wrong.qpn = 0x201;
    net.listener.on_message(wrong, true_ends, net.now);
    EXPECT_EQ(unexpected(), 2U);
    wrong = end;
    wrong.local_id = id + 1;
    net.listener.on_message(wrong, true_ends, net.now);
    EXPECT_EQ(unexpected(), 3U);
    for (const Kind kind :
         {Kind::reply, Kind::ready, Kind::receipt, Kind::disconnected, Kind::datagram_reply}) {
        Message late = end;
        late.kind = kind;
        net.listener.on_message(late, true_ends, net.now);
    }
    EXPECT_EQ(unexpected(), 8U);
    net.run();
    EXPECT_EQ(net.of_listener.back().kind, ConnectionEventKind::established);
    EXPECT_EQ(net.listener.disconnect(other, net.now), 0) << "it is still connected";
}

TEST(Agent, AnyMessagesFromAnybodyLeaveNoMoreConnectionsThanTheBacklog) {
    Network net;
    const auto [id, other] = net.connected();
    std::mt19937 random(3);
    const std::array addresses{caller_address, stranger_address};
    const std::array ids{id, other, 0U, other + 1, 77U};
    for (int i = 0; i < 20'000; ++i) {
        Message one;
        one.kind = static_cast<Kind>(0x10 + random() % 9);
        one.local_id =
            random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : ids[random() % ids.size()];
        one.remote_id = ids[random() % ids.size()];
        one.service = random() % 2 == 0 ? service : random();
        one.qpn = random() % 4 == 0 ? 0x200 : random() & 0xffffff;
        one.path_mtu = static_cast<std::uint8_t>(random() % 8);
        one.answered = static_cast<Answered>(random() % 4);
        one.service_timeout = static_cast<std::uint8_t>(random() % 32);
        net.listener.on_message(one, {addresses[random() % 2], listener_address}, net.now);
        net.listener.on_deadline(net.now += 1'000);
        while (net.listener.poll_message()) {
        }
    }
    const AgentCounters& counters = net.listener.counters();
    EXPECT_LE(net.listener.connections(), 17U);
    EXPECT_GT(counters.unexpected, 1'000U);
    EXPECT_GT(counters.refused, 1'000U);
    net.listener.forget_all(net.now);
    net.run_until(net.now + 100 * response_ns);
    EXPECT_EQ(net.listener.connections(), 0U);
}

TEST(Agent, ARequestThatMakesNoSenseIsDropped) {
    Network net;
    Message strange = request();
    strange.path_mtu = 6;
    net.caller.connect(strange, {caller_address, listener_address}, 0);
    strange = request();
    strange.qpn = 1;
    net.caller.connect(strange, {caller_address, listener_address}, 0);
    net.run();
    EXPECT_THAT(net.of_listener, IsEmpty());
    EXPECT_EQ(net.listener.counters().refused, 2U);
}

TEST(Agent, AQueuePairForDatagramsIsToldAlsoWhereTheAnswerWasLost) {
    Network net;
    bool lost = false;
    net.fate = [&](const OutgoingMessage& outgoing) {
        const bool loses = !lost && outgoing.message.kind == Kind::datagram_reply;
        lost = lost || loses;
        return loses ? std::vector<Nanoseconds>{} : std::vector{flight_ns};
    };
    net.caller.resolve(request(), {caller_address, listener_address}, 0);
    net.run();
    ASSERT_THAT(kinds(net.of_listener), ElementsAre(ConnectionEventKind::datagram_request));
    Message answer = reply();
    answer.qkey = 0x01234567;
    net.listener.answer(net.of_listener[0].id, answer, net.now);
    net.run_until(2 * response_ns);
    ASSERT_THAT(kinds(net.of_caller), ElementsAre(ConnectionEventKind::datagram_reply));
    EXPECT_EQ(net.of_caller[0].message.qpn, 0x200U);
    EXPECT_EQ(net.of_caller[0].message.qkey, 0x01234567U);
    net.run_until(100 * response_ns);
    EXPECT_EQ(net.caller.connections() + net.listener.connections(), 0U);
}

TEST(Agent, ARejectionOfADatagramRequestIsRememberedForCopiesOfIt) {
    Network net;
    net.now = 1000 * response_ns;
    net.fate = [](const OutgoingMessage& outgoing) {
        const bool is_answer = outgoing.message.kind == Kind::datagram_reply;
        return is_answer ? std::vector<Nanoseconds>{} : std::vector{flight_ns};
    };
    net.caller.resolve(request(), {caller_address, listener_address}, net.now);
    net.run();
    net.listener.reject(net.of_listener[0].id, Reason::consumer, {}, net.now);
    net.run_until(net.now + 3 * response_ns);
    EXPECT_THAT(kinds(net.of_listener), ElementsAre(ConnectionEventKind::datagram_request));
}

TEST(Agent, WhatTheProgramForgetsEndsInGoodOrder) {
    Network net;
    const std::uint32_t asked = net.call();
    net.caller.forget(asked, net.now);
    net.run();
    EXPECT_EQ(net.caller.connections(), 0U);
    // The listener does not know, and finds out when it answers.
    net.listener.forget(net.of_listener[0].id, net.now);
    net.run();
    EXPECT_EQ(net.listener.connections(), 0U);

    const auto [id, other] = net.connected();
    net.caller.forget(id, net.now);
    net.run();
    EXPECT_EQ(net.of_listener.back().kind, ConnectionEventKind::disconnected);
    net.listener.forget(other, net.now);
    const std::size_t heard = net.of_caller.size() + net.of_listener.size();
    net.run_until(net.now + timing.time_wait_ns);
    EXPECT_EQ(net.of_caller.size() + net.of_listener.size(), heard);
    EXPECT_EQ(net.caller.connections() + net.listener.connections(), 0U);
}

// Connections over a network that loses, doubles and reorders: each program hears of each step
// once, and at the end nothing is left.
TEST(Agent, EveryConnectionIsMadeAndEndedOverABadNetwork) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Network net;
        std::mt19937 random(seed);
        net.fate = [&](const OutgoingMessage&) {
            std::vector<Nanoseconds> arrivals;
            for (int copies = random() % 4 == 0 ? 2 : 1; copies > 0; --copies) {
                const auto flights = static_cast<Nanoseconds>(1 + random() % 200);
                if (random() % 5 != 0) arrivals.push_back(flight_ns * flights);
            }
            return arrivals;
        };
        std::size_t caller_seen = 0;
        std::size_t listener_seen = 0;
        std::vector<std::uint32_t> callers;
        for (int i = 0; i < 5; ++i) callers.push_back(net.call());
        // What is lost after a receipt is sent again after 69 s only.
        for (int step = 0; step < 500; ++step) {
            net.run_until(net.now + response_ns / 3);
            for (; caller_seen < net.of_caller.size(); ++caller_seen) {
                const ConnectionEvent& one = net.of_caller[caller_seen];
                ASSERT_NE(one.kind, ConnectionEventKind::unreachable) << seed;
                if (one.kind == ConnectionEventKind::response) {
                    ASSERT_EQ(net.caller.establish(one.id, net.now), 0) << seed;
                }
            }
            for (; listener_seen < net.of_listener.size(); ++listener_seen) {
                const ConnectionEvent& one = net.of_listener[listener_seen];
                if (one.kind == ConnectionEventKind::request) {
                    ASSERT_EQ(net.listener.accept(one.id, reply(), net.now), 0) << seed;
                }
            }
        }
        const auto count = [](const std::vector<ConnectionEvent>& in, ConnectionEventKind kind) {
            return std::count_if(in.begin(), in.end(),
                                 [&](const ConnectionEvent& one) { return one.kind == kind; });
        };
        ASSERT_EQ(count(net.of_caller, ConnectionEventKind::response), 5) << seed;
        ASSERT_EQ(count(net.of_listener, ConnectionEventKind::established), 5) << seed;
        for (const std::uint32_t id : callers) net.caller.disconnect(id, net.now);
        net.run_until(net.now + 40 * response_ns);
        ASSERT_EQ(count(net.of_caller, ConnectionEventKind::disconnected), 5) << seed;
        ASSERT_EQ(count(net.of_listener, ConnectionEventKind::disconnected), 5) << seed;
        ASSERT_EQ(net.caller.connections() + net.listener.connections(), 0U) << seed;
    }
}

}  // namespace
}  // namespace lanewise::verbs::cm
