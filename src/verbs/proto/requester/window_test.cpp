// SPDX-License-Identifier: BSD-3-Clause
//
// The requester's congestion window and its RTT estimator.

#include <gtest/gtest.h>

#include <utility>

#include "verbs/proto/requester/rtt_estimator.hpp"
#include "verbs/proto/requester/window.hpp"

namespace lanewise::verbs::testing {
namespace {

TEST(Window, HalvesOnceForPacketsInFlightAndGrowsBack) {
    Window window;
    window.open(64 * 1024);
    EXPECT_EQ(window.packets(1024), 64u);

    window.on_loss(Psn(10), Psn(70), 1024, 0);
    window.on_loss(Psn(20), Psn(90), 1024, 0);
    EXPECT_EQ(window.packets(1024), 32u);
    EXPECT_EQ(window.packets_max(1024), 64u);

    window.on_loss(Psn(70), Psn(90), 1024, 0);
    EXPECT_EQ(window.packets(1024), 16u);

    for (std::uint32_t i = 0; i < 10'000; ++i) {
        window.on_progress(Psn(71 + i), 1, 1024);
    }
    EXPECT_EQ(window.packets(1024), 64u);
}

TEST(Window, DoesNotShrinkBelowWhatThePathCarriesNorGrowForIt) {
    Window window;
    window.open(64 * 1024);
    window.on_loss(Psn(10), Psn(70), 1024, 48 * 1024);
    EXPECT_EQ(window.packets(1024), 48u);

    window.on_loss(Psn(80), Psn(90), 1024, 60 * 1024);

    EXPECT_EQ(window.packets(1024), 48u);
}

TEST(Window, ShrinksAgainWhenWhatWasSentAgainIsLost) {
    Window window;
    window.open(64 * 1024);
    window.on_loss(Psn(10), Psn(70), 1024, 0);

    window.on_loss_of_many(Psn(70), 1024, 0);

    EXPECT_EQ(window.packets(1024), 16u);
    window.on_arrived_twice(Psn(10));
    EXPECT_EQ(window.packets(1024), 16u);
}

TEST(Window, GrowsByASegmentOfTcpInARoundTrip) {
    for (const auto& [mtu, segment] : {std::pair{1024U, 1448U}, std::pair{4096U, 5792U}}) {
        Window window;
        window.open(1024 * mtu);
        window.on_loss(Psn(10), Psn(1034), mtu, 0);
        ASSERT_EQ(window.packets(mtu), 512u);

        for (int round_trips = 0; round_trips < 100; ++round_trips) {
            window.on_progress(Psn(11), window.packets(mtu), mtu);
        }

        EXPECT_NEAR(window.packets(mtu), 512 + 100.0 * segment / mtu, 2);
    }
}

TEST(Window, GetsBackWhatItLostForPacketsThatWereOnlyLate) {
    Window window;
    window.open(64 * 1024);
    window.on_loss(Psn(10), Psn(70), 1024, 0);
    window.on_loss(Psn(20), Psn(90), 1024, 0);
    window.on_loss(Psn(95), Psn(120), 1024, 0);
    ASSERT_EQ(window.packets(1024), 16u);

    window.on_arrived_twice(Psn(10));
    EXPECT_EQ(window.packets(1024), 16u);
    window.on_arrived_twice(Psn(20));
    EXPECT_EQ(window.packets(1024), 48u);

    window.on_arrived_twice(Psn(20));
    window.on_arrived_twice(Psn(96));
    EXPECT_EQ(window.packets(1024), 48u);
    window.on_arrived_twice(Psn(95));
    EXPECT_EQ(window.packets(1024), 64u);
}

TEST(Window, HalvesAgainForALossBehindALatePacket) {
    Window window;
    window.open(64 * 1024);
    window.on_loss(Psn(10), Psn(70), 1024, 0);
    window.on_arrived_twice(Psn(10));

    window.on_loss(Psn(30), Psn(90), 1024, 0);

    EXPECT_EQ(window.packets(1024), 32u);
}

// Numbers that are more than half of their circle ahead seem to be before the old loss.
TEST(Window, HalvesAgainForALossHoweverFarBehindTheLast) {
    for (const std::uint32_t later : {100U, 1U << 22, 1U << 23, 3U << 22, Psn::mask - 20}) {
        Window window;
        window.open(64 * 1024);
        window.on_loss(Psn(10), Psn(70), 1024, 0);
        window.on_progress(Psn(70), 60, 1024);
        const std::uint32_t grown = window.packets(1024);

        window.on_loss(Psn(10) + later, Psn(70) + later, 1024, 0);

        EXPECT_EQ(window.packets(1024), grown / 2) << later;
    }
}

TEST(Window, KeepsACutWhoseLossesAreTooManyToKnow) {
    Window window;
    window.open(64 * 1024);
    for (std::uint32_t i = 10; i < 15; ++i) {
        window.on_loss(Psn(i), Psn(70), 1024, 0);
    }

    for (std::uint32_t i = 10; i < 15; ++i) {
        window.on_arrived_twice(Psn(i));
    }

    EXPECT_EQ(window.packets(1024), 32u);
}

TEST(Window, KeepsItsCutsWhenMoreWasSentTwice) {
    Window window;
    window.open(64 * 1024);
    window.on_loss(Psn(10), Psn(70), 1024, 0);

    window.keep_cuts();
    window.on_arrived_twice(Psn(10));

    EXPECT_EQ(window.packets(1024), 32u);
}

TEST(RttEstimator, AddsFourDeviationsToTheMean) {
    RttEstimator estimator;
    EXPECT_EQ(estimator.probe_timeout_ns(500), 500);
    for (std::uint32_t i = 0; i < 100; ++i) {
        estimator.on_sent(Psn(i), i * 100'000);
        estimator.on_acknowledged(Psn(i), i * 100'000 + 1);  // does not cover it
        estimator.on_acknowledged(Psn(i + 1), i * 100'000 + 10'000);
    }
    EXPECT_NEAR(static_cast<double>(estimator.probe_timeout_ns(500)), 10'000, 200);

    estimator.on_sent(Psn(100), 0);
    estimator.discard_sample();
    estimator.on_acknowledged(Psn(200), 1'000'000'000);
    EXPECT_LT(estimator.probe_timeout_ns(500), 20'000);
}

TEST(RttEstimator, WaitsTwiceAsLongAfterAProbeUntilAPacketIsTimed) {
    constexpr Nanoseconds least = 500;
    RttEstimator estimator;
    estimator.on_probe();
    estimator.on_probe();
    EXPECT_EQ(estimator.probe_timeout_ns(least), 4 * least);
    estimator.discard_sample();
    EXPECT_EQ(estimator.probe_timeout_ns(least), 4 * least);

    estimator.on_sent(Psn(1), 0);
    estimator.on_acknowledged(Psn(2), 1'000);

    EXPECT_EQ(estimator.probe_timeout_ns(least), 3'000);
    EXPECT_EQ(estimator.shortest_ns(), 1'000);
}

TEST(RttEstimator, WaitsHalfAsLongAfterAProbeThatWasNeeded) {
    constexpr Nanoseconds least = 10'000;
    RttEstimator estimator;
    estimator.on_probe();
    estimator.on_probe();

    estimator.on_needed_probe(1'000);

    EXPECT_EQ(estimator.probe_timeout_ns(least), 2 * least);
    EXPECT_EQ(estimator.mean_ns(), 1'000);
    EXPECT_EQ(estimator.shortest_ns(), 0);
}

TEST(RttEstimator, IgnoresAPacketThatSeemsToBeAcknowledgedBeforeItLeft) {
    RttEstimator estimator;
    estimator.on_sent(Psn(1), 1'000);

    estimator.on_acknowledged(Psn(2), 900);

    EXPECT_EQ(estimator.shortest_ns(), 0);
    EXPECT_EQ(estimator.mean_ns(), 0);
}

}  // namespace
}  // namespace lanewise::verbs::testing
