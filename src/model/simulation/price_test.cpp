// SPDX-License-Identifier: BSD-3-Clause
//
// Prices small enough to be added up by hand, one fact each. What holds of all
// schedules is in price_properties_test.cpp.

#include "model/simulation/price.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/simulation/uniform_network.hpp"

namespace lanewise::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Slice here{};

/* The schedules of a few ranks, written side by side. */
struct Play {
    explicit Play(int ranks) : builders(static_cast<std::size_t>(ranks)) {}
    Builder& operator[](int rank) { return builders[static_cast<std::size_t>(rank)]; }

    Priced on(const Network& network, std::int64_t unit_bytes = 1, const Watch& watch = {}) {
        const auto finished = [this](int rank) { return (*this)[rank].finish(); };
        return price(network, static_cast<int>(builders.size()), finished, unit_bytes, watch);
    }

    std::vector<Builder> builders;
};

const MessageCost one_to_five{
    .send_s = 1, .egress_s = 2, .latency_s = 4, .ingress_s = 8, .receive_s = 16};

TEST(Price, NothingTakesNoTime) {
    const auto priced = Play(3).on(uniform_network(3, one_to_five, {}));

    EXPECT_TRUE(priced.finished);
    EXPECT_EQ(priced.total_s, 0.0);
    EXPECT_THAT(priced.rank_s, ElementsAre(0, 0, 0));
}

TEST(Price, AMessageTakesTheSumOfItsPartsButForIngressThatOverlapsEgress) {
    Play play(2);
    play[0].send(1, here, 1);
    play[1].receive(0, here, 1);

    const auto priced = play.on(uniform_network(2, one_to_five, {}));

    EXPECT_THAT(priced.rank_s, ElementsAre(1, 1 + 4 + 8 + 16));
    EXPECT_EQ(priced.total_s, 29.0);
}

TEST(Price, AMessageIsTakenInNoSoonerThanItsLastByteArrives) {
    Play play(2);
    play[0].send(1, here, 1);
    play[1].receive(0, here, 1);

    const auto priced =
        play.on(uniform_network(2, {.egress_s = 8, .latency_s = 1, .ingress_s = 2}, {}));

    EXPECT_EQ(priced.total_s, 9.0);
}

TEST(Price, BytesAreUnitsTimesTheirSize) {
    Play play(2);
    play[0].send(1, here, 3);
    play[1].receive(0, here, 3);

    const auto priced = play.on(uniform_network(2, {}, {.latency_s = 1}), 8);

    EXPECT_EQ(priced.total_s, 24.0);
}

TEST(Price, CopiesAndReductionsOccupyTheProcessorOneAfterTheOther) {
    Play play(1);
    play[0].copy(here, here, 3);
    play[0].reduce(here, here, 2);
    auto network = uniform_network(1, {}, {});
    network.copy_s_per_byte = 1;
    network.reduce_s_per_byte = 10;

    EXPECT_EQ(play.on(network).total_s, 23.0);
}

TEST(Price, RanksOfOneHostSendThroughItsInterfaceInTurn) {
    Play play(4);
    for (const int sender : {0, 1}) {
        play[sender].send(sender + 2, here, 1);
        play[sender + 2].receive(sender, here, 1);
    }
    auto network = uniform_network(4, {.egress_s = 5}, {});
    network.host = {7, 7, 1, 2};

    EXPECT_THAT(play.on(network).rank_s, ElementsAre(0, 0, 5, 10));
}

TEST(Price, MessagesToOneHostAreTakenInOneAfterTheOther) {
    Play play(3);
    for (const int sender : {1, 2}) {
        play[sender].send(0, here, 1);
        play[0].receive(sender, here, 1);
    }

    const auto priced = play.on(uniform_network(3, {.egress_s = 5, .ingress_s = 5}, {}));

    EXPECT_EQ(priced.total_s, 10.0);
}

TEST(Price, SlowSendersFillAFastInterfaceTogether) {
    Play play(3);
    for (const int sender : {1, 2}) {
        play[sender].send(0, here, 1);
        play[0].receive(sender, here, 1);
    }

    const auto priced = play.on(uniform_network(3, {.egress_s = 8, .ingress_s = 1}, {}));

    EXPECT_EQ(priced.total_s, 9.0);
}

TEST(Price, AMessageWithoutEgressAndIngressPassesABusyInterface) {
    Play play(3);
    play[0].send(1, here, 100);
    play[0].send(2, here, 1);
    play[1].receive(0, here, 100);
    play[2].receive(0, here, 1);
    auto network = uniform_network(3, {}, {});
    network.cost = [](int, int to, std::int64_t) {
        return to == 1 ? MessageCost{.egress_s = 50, .latency_s = 1} : MessageCost{.latency_s = 1};
    };

    EXPECT_THAT(play.on(network).rank_s, ElementsAre(0, 51, 1));
}

TEST(Price, AnInterfaceRestsBeforeItSendsTheNextMessage) {
    Play play(2);
    play[0].send(1, here, 1);
    play[0].send(1, here, 1);
    play[1].receive(0, here, 1);
    play[1].receive(0, here, 1);

    auto network = uniform_network(2, {}, {});
    network.cost = [](int, int, std::int64_t) { return MessageCost{.egress_s = 2, .rest_s = 5}; };
    EXPECT_EQ(play.on(network).total_s, 9.0);
}

TEST(Price, AnInterfaceDoesNotHoldUpWhatTakesTheOther) {
    Play play(3);
    play[0].send(1, here, 1);
    play[0].send(2, here, 1);
    play[1].receive(0, here, 1);
    play[2].receive(0, here, 1);

    auto network = uniform_network(3, {}, {});
    network.cost = [](int, int to, std::int64_t) {
        return MessageCost{.egress_s = to == 1 ? 10.0 : 1.0, .interface = to == 1 ? 1 : 0};
    };
    EXPECT_THAT(play.on(network).rank_s, ElementsAre(0, 10, 1));
}

TEST(Price, AStepWaitsForThoseItNames) {
    Play play(2);
    const auto first = play[0].receive(1, here, 1);
    play[0].send(1, here, 1, {first});
    play[1].send(0, here, 1);
    play[1].receive(0, here, 1);

    EXPECT_EQ(play.on(uniform_network(2, {.latency_s = 3}, {})).total_s, 6.0);
}

TEST(Price, AStepIsNotStartedBeforeThoseAheadOfItInTheList) {
    Play play(3);
    const auto first = play[0].receive(1, here, 1);
    play[0].send(1, here, 1, {first});
    play[0].send(2, here, 1);
    play[1].send(0, here, 1);
    play[1].receive(0, here, 1);
    play[2].receive(0, here, 1);

    EXPECT_THAT(play.on(uniform_network(3, {.latency_s = 3}, {})).rank_s, ElementsAre(3, 6, 6));
}

TEST(Price, ABusyProcessorReceivesLater) {
    Play play(2);
    play[0].send(1, here, 1);
    play[1].receive(0, here, 1);
    play[1].copy(here, here, 10);
    auto network = uniform_network(2, {.latency_s = 1, .receive_s = 2}, {});
    network.copy_s_per_byte = 1;

    EXPECT_EQ(play.on(network).total_s, 12.0);
}

TEST(Price, AnEagerSendHasCompletedBeforeItIsReceived) {
    Play play(2);
    play[0].send(1, here, 8);
    const auto copied = play[1].copy(here, here, 100);
    play[1].receive(0, here, 8, {copied});
    auto network = uniform_network(2, {.send_s = 1, .egress_s = 2}, {});
    network.copy_s_per_byte = 1;
    network.eager_bytes = 8;

    EXPECT_THAT(play.on(network).rank_s, ElementsAre(1, 100));
}

TEST(Price, ALargeSendBeginsWhenItsReceiveIsPosted) {
    Play play(2);
    play[0].send(1, here, 9);
    const auto copied = play[1].copy(here, here, 100);
    play[1].receive(0, here, 9, {copied});
    auto network = uniform_network(2, {.send_s = 1, .egress_s = 2}, {});
    network.copy_s_per_byte = 1;
    network.eager_bytes = 8;

    EXPECT_THAT(play.on(network).rank_s, ElementsAre(103, 103));
}

TEST(Price, TheNthSendMeetsTheNthReceiveThoughItArrivesFirst) {
    Play play(2);
    play[0].send(1, here, 100);
    play[0].send(1, here, 1);
    const auto large = play[1].receive(0, here, 100);
    play[1].receive(0, here, 1, {large});

    const auto priced = play.on(uniform_network(2, {}, {.latency_s = 1}));

    EXPECT_TRUE(priced.finished);
    EXPECT_EQ(priced.total_s, 100.0);
}

Network shared_network(int ranks, std::vector<double> bandwidth_Bps) {
    auto network = uniform_network(ranks, {.latency_s = 1, .shared_links = {0}}, {});
    network.shared_links.push_back({std::move(bandwidth_Bps)});
    return network;
}

TEST(Price, OneMessageHasASharedLinkToItself) {
    Play play(2);
    play[0].send(1, here, 100);
    play[1].receive(0, here, 100);

    EXPECT_EQ(play.on(shared_network(2, {10, 15})).total_s, 11.0);
}

TEST(Price, MessagesOnASharedLinkGetEqualPartsOfWhatTheyHaveTogether) {
    Play play(4);
    for (const int sender : {0, 1}) {
        play[sender].send(sender + 2, here, sender == 0 ? 75 : 85);
        play[sender + 2].receive(sender, here, sender == 0 ? 75 : 85);
    }

    // 7.5 bytes a second each until the first has its 75; the other's last 10 alone.
    EXPECT_THAT(play.on(shared_network(4, {10, 15})).rank_s, ElementsAre(0, 0, 11, 12));
}

TEST(Price, OnALinkByLatencyTheNearerMessageGetsMore) {
    Play play(3);
    for (const int receiver : {1, 2}) {
        play[0].send(receiver, here, 100);
        play[receiver].receive(0, here, 100);
    }
    auto network = uniform_network(3, {}, {});
    network.shared_links = {{{10}, true}};
    network.cost = [](int, int to, std::int64_t) {
        return MessageCost{.latency_s = to == 1 ? 3.0 : 1.0, .shared_links = {0}};
    };

    // Rank 2 gets three quarters of 10 bytes a second, and rank 1 the rest of all 20 seconds.
    const auto rank_s = play.on(network).rank_s;
    EXPECT_NEAR(rank_s[2], 100 / 7.5 + 1, 1e-9);
    EXPECT_NEAR(rank_s[1], 20 + 3, 1e-9);
}

TEST(Price, AMessageHasArrivedWhenItHasLeftAllOfItsLinks) {
    for (const double first_Bps : {10.0, 20.0}) {
        Play play(2);
        play[0].send(1, here, 100);
        play[1].receive(0, here, 100);
        auto network = uniform_network(2, {.latency_s = 1, .shared_links = {0, 1}}, {});
        network.shared_links = {{{first_Bps}}, {{30 - first_Bps}}};

        EXPECT_EQ(play.on(network).total_s, 11.0);
    }
}

TEST(Price, OnlyWhatTwoHostsSendToEachOtherWaitsForTheirConnection) {
    Play play(3);
    for (const int receiver : {1, 2, 1}) {
        play[0].send(receiver, here, 1);
        play[receiver].receive(0, here, 1);
    }
    auto network = uniform_network(3, {}, {});
    network.cost = [](int, int, std::int64_t) {
        return MessageCost{.egress_s = 5, .ingress_s = 5, .interface = own_connection};
    };

    EXPECT_THAT(play.on(network).rank_s, ElementsAre(0, 10, 5));
}

TEST(Price, AMessageThatEntersASharedLinkSlowsTheOneOnIt) {
    Play play(4);
    play[0].send(2, here, 100);
    play[2].receive(0, here, 100);
    const auto copied = play[1].copy(here, here, 5);
    play[1].send(3, here, 100, {copied});
    play[3].receive(1, here, 100);
    auto network = shared_network(4, {10});
    network.copy_s_per_byte = 1;

    // The first has sent 50 bytes alone after 5 s, and the rest at half speed after 15 s.
    EXPECT_THAT(play.on(network).rank_s, ElementsAre(0, 5, 16, 21));
}

TEST(Price, TwoThatWaitForEachOtherAreNamed) {
    Play play(2);
    for (const int rank : {0, 1}) {
        const auto received = play[rank].receive(1 - rank, here, 1);
        play[rank].send(1 - rank, here, 1, {received});
    }

    const auto priced = play.on(uniform_network(2, one_to_five, {}));

    EXPECT_FALSE(priced.finished);
    EXPECT_TRUE(std::isinf(priced.total_s));
    EXPECT_EQ(priced.waiting,
              "rank 1 waits for rank 0, which does not send (step 0); "
              "rank 0 waits for rank 1, which does not send (step 0)");
}

TEST(Price, LargeSendsHeadToHeadCannotFinish) {
    Play play(2);
    for (const int rank : {0, 1}) {
        const auto sent = play[rank].send(1 - rank, here, 9);
        play[rank].receive(1 - rank, here, 9, {sent});
    }
    auto network = uniform_network(2, one_to_five, {});
    network.eager_bytes = 8;

    const auto priced = play.on(network);

    EXPECT_FALSE(priced.finished);
    EXPECT_THAT(priced.waiting, HasSubstr("rank 0 sends to rank 1, which does not receive"));
}

TEST(Price, AMessageThatNobodyReceivesIsNamed) {
    Play play(2);
    play[0].send(1, here, 1);

    const auto priced = play.on(uniform_network(2, one_to_five, {}));

    EXPECT_FALSE(priced.finished);
    EXPECT_THAT(priced.waiting, HasSubstr("rank 0 sends to rank 1, which does not receive"));
}

TEST(Price, ARankThatIsNotThereIsNotSentTo) {
    Play play(2);
    play[0].send(2, here, 1);
    play[1].send(-1, here, 1);

    const auto priced = play.on(uniform_network(2, one_to_five, {}));

    EXPECT_FALSE(priced.finished);
    EXPECT_THAT(priced.waiting, HasSubstr("rank 0 cannot complete"));
}

TEST(Price, ALinkWithoutBandwidthIsNamed) {
    Play play(2);
    play[0].send(1, here, 1);
    play[1].receive(0, here, 1);

    const auto priced = play.on(shared_network(2, {0}));

    EXPECT_FALSE(priced.finished);
    EXPECT_THAT(priced.waiting, HasSubstr("shared link without bandwidth"));
}

TEST(Price, ManyThatWaitAreCounted) {
    Play play(10);
    for (int rank = 1; rank < 10; ++rank) play[rank].receive(0, here, 1);

    EXPECT_THAT(play.on(uniform_network(10, {}, {})).waiting, HasSubstr("; and 5 more"));
}

TEST(Price, WorkIsToldToWhoWatches) {
    Play play(2);
    play[0].send(1, here, 1);
    play[1].receive(0, here, 1);
    std::vector<std::pair<Busy, double>> told;

    play.on(uniform_network(2, one_to_five, {}), 1,
            [&](const Span& span) { told.emplace_back(span.what, span.end_s); });

    EXPECT_THAT(told, ElementsAre(std::pair(Busy::send, 1.0), std::pair(Busy::egress, 3.0),
                                  std::pair(Busy::ingress, 13.0), std::pair(Busy::receive, 29.0)));
}

}  // namespace
}  // namespace lanewise::model
