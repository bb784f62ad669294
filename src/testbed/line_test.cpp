// SPDX-License-Identifier: BSD-3-Clause
//
// A line in virtual time: rate, delay, queue, jitter, loss, reordering and caps are what was asked.

#include "testbed/line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "testbed/testing.hpp"

namespace lanewise::testbed {
namespace {

using namespace testing;

constexpr std::int64_t ms = 1'000'000;

struct Arrival {
    std::int64_t time_ns;
    Packet packet;
};

/* Takes whatever is on the line, each at the moment at which it is due. */
std::vector<Arrival> drain(Line& line) {
    std::vector<Arrival> arrivals;
    while (const auto next = line.next_ns())
        if (auto packet = line.take(*next)) arrivals.push_back({*next, std::move(*packet)});
    return arrivals;
}

LinkSettings settings_of(double rate_bits_per_s, std::int64_t delay_ns) {
    return {.rate_bits_per_s = rate_bits_per_s, .delay_ns = delay_ns, .queue_bytes = 1 << 30};
}

TEST(Line, APacketIsDueWhenItsLastBitHasLeftPlusTheDelay) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);

    line.offer(100, tcp_packet(960));

    const auto arrivals = drain(line);
    ASSERT_EQ(arrivals.size(), 1U);
    EXPECT_EQ(arrivals[0].time_ns, 100 + 8 * 1000 + 5 * ms);
    EXPECT_EQ(arrivals[0].packet, tcp_packet(960));
}

TEST(Line, NothingIsTakenBeforeItIsDue) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);
    line.offer(0, tcp_packet(960));

    EXPECT_FALSE(line.take(5 * ms + 7999));
    EXPECT_TRUE(line.take(5 * ms + 8000));
    EXPECT_FALSE(line.next_ns());
}

TEST(Line, ABurstLeavesAtTheRate) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);

    for (int i = 0; i < 100; ++i) line.offer(0, tcp_packet(960));

    const auto arrivals = drain(line);
    for (std::size_t i = 0; i < arrivals.size(); ++i)
        EXPECT_EQ(arrivals[i].time_ns, static_cast<std::int64_t>(i + 1) * 8000 + 5 * ms);
}

TEST(Line, AGsoPacketCrossesUncutAndCostsAllItsHeaders) {
    Line line(settings_of(1e9, 0), Layer::ip, 1);

    line.offer(0, tcp_packet(40 * 1460));

    const auto arrivals = drain(line);
    ASSERT_EQ(arrivals.size(), 1U);
    EXPECT_EQ(arrivals[0].time_ns, 8 * 40 * 1500);
    EXPECT_EQ(line.counters().delivered, 40U);
}

TEST(Line, WhatDoesNotFitIntoTheQueueIsDroppedAndCounted) {
    auto settings = settings_of(1e6, 0);
    settings.queue_bytes = 10'000;
    Line line(settings, Layer::ip, 1);

    for (int i = 0; i < 100; ++i) line.offer(0, tcp_packet(960));

    EXPECT_EQ(drain(line).size(), 10U);
    EXPECT_EQ(line.counters().dropped_by_queue, 90U);
    EXPECT_EQ(line.counters().offered, 100U);
}

TEST(Line, OfAGsoPacketTheSegmentsThatDoNotFitIntoTheQueueAreDropped) {
    auto settings = settings_of(1e6, 0);
    settings.queue_bytes = 1500 + 10 * 1500 + 1499;
    Line line(settings, Layer::ip, 1);
    line.offer(0, tcp_packet(1460));

    line.offer(0, tcp_packet(40 * 1460));
    line.offer(0, tcp_packet(40 * 1460));

    const auto arrivals = drain(line);
    ASSERT_EQ(arrivals.size(), 2U);
    EXPECT_EQ(arrivals[1].packet, cut(tcp_packet(40 * 1460), Layer::ip, 0, 10));
    EXPECT_EQ(arrivals[1].time_ns, 8 * 11 * 1500 * 1000);
    EXPECT_EQ(line.counters().delivered, 11U);
    EXPECT_EQ(line.counters().dropped_by_queue, 30U + 40U);
}

TEST(Line, OfAGsoPacketTheSegmentsThatDoNotFitBeforeTheCapAreDropped) {
    auto settings = settings_of(1e9, 0);
    settings.flow_rate_bits_per_s = 1e6;
    settings.queue_bytes = 1500 + 10 * 1500;
    Line line(settings, Layer::ip, 1);
    line.offer(0, tcp_packet(1460));

    line.offer(0, tcp_packet(40 * 1460));

    EXPECT_EQ(drain(line).size(), 2U);
    EXPECT_EQ(line.counters().delivered, 11U);
    EXPECT_EQ(line.counters().dropped_by_queue, 30U);
}

TEST(Line, WhatTheFarEndRefusesIsNotCountedAsDelivered) {
    Line line(settings_of(1e9, 0), Layer::ip, 1);
    line.offer(0, tcp_packet(960));
    line.offer(0, tcp_packet(40 * 1460));
    const auto first = line.take(ms);
    const auto second = line.take(ms);
    ASSERT_TRUE(first && second);

    line.not_delivered(*second);

    EXPECT_EQ(line.counters().delivered, 1U);
    EXPECT_EQ(line.counters().delivered_bytes, 1000U);
}

/* As a program whose transport understands congestion marks it: ECT(0). */
Packet markable_packet() {
    Packet packet = tcp_packet(960);
    put(packet, ip_at + 1, 1, 2);
    put(packet, ip_at + 10, 2, 0x2ad1);
    return packet;
}

TEST(Line, TheQueueMarksNoneThenSomeThenAllOfThePacketsAsItGrows) {
    auto settings = settings_of(1e6, 0);
    settings.mark_bytes = 10'000;
    Line line(settings, Layer::ip, 1);

    for (int i = 0; i < 100; ++i) line.offer(0, markable_packet());

    std::vector<bool> marked;
    for (const Arrival& arrival : drain(line))
        marked.push_back(number(arrival.packet, ip_at + 1, 1) == 3);
    ASSERT_EQ(marked.size(), 100U);
    EXPECT_EQ(std::count(marked.begin(), marked.begin() + 11, true), 0);
    const auto some = std::count(marked.begin() + 11, marked.begin() + 40, true);
    EXPECT_GT(some, 5);
    EXPECT_LT(some, 25);
    EXPECT_EQ(std::count(marked.begin() + 41, marked.end(), true), 59);
    EXPECT_EQ(line.counters().marked,
              static_cast<std::uint64_t>(some) + static_cast<std::uint64_t>(marked[40]) + 59);
}

TEST(Line, APacketThatMayNotBeMarkedIsLeftAsItIs) {
    auto settings = settings_of(1e6, 0);
    settings.mark_bytes = 1;
    Line line(settings, Layer::ip, 1);

    for (int i = 0; i < 10; ++i) line.offer(0, tcp_packet(960));

    for (const Arrival& arrival : drain(line)) EXPECT_EQ(arrival.packet, tcp_packet(960));
    EXPECT_EQ(line.counters().marked, 0U);
}

TEST(Line, APacketLargerThanTheQueuePassesAnIdleLine) {
    auto settings = settings_of(1e6, 0);
    settings.queue_bytes = 3000;
    Line line(settings, Layer::ip, 1);

    line.offer(0, tcp_packet(20 * 1460));

    EXPECT_EQ(drain(line).size(), 1U);
}

TEST(Line, JitterStaysInItsBoundsAndKeepsTheOrder) {
    auto settings = settings_of(0, 5 * ms);
    settings.jitter_ns = 2 * ms;
    Line line(settings, Layer::ip, 7);
    std::vector<std::int64_t> delays;
    for (int i = 0; i < 1000; ++i) {
        const auto now = std::int64_t{i} * 10 * ms;
        line.offer(now, tcp_packet(100));
        for (const auto& arrival : drain(line)) delays.push_back(arrival.time_ns - now);
    }

    const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
    EXPECT_GE(*least, 3 * ms);
    EXPECT_LE(*most, 7 * ms);
    EXPECT_GT(*most - *least, 3 * ms) << "a thousand draws come near both ends";
}

/* How much later than at the rate and the delay of `settings` each packet of a burst arrives, where
 * they hold for all but the first from 15 ms on, and `before` until then. */
std::vector<std::int64_t> jitters_after(const LinkSettings& before, const LinkSettings& settings) {
    constexpr std::size_t packets = 200;
    Line line(before, Layer::ip, 7);
    for (std::size_t i = 0; i < packets; ++i) line.offer(0, tcp_packet(960));
    EXPECT_TRUE(line.take(15 * ms)) << "each takes 10 ms";
    line.change(15 * ms, settings);
    std::vector<std::int64_t> jitters;
    for (const auto& arrival : drain(line)) {
        const auto left_ns = static_cast<std::int64_t>(jitters.size() + 2) * 10 * ms;
        jitters.push_back(arrival.time_ns - left_ns - settings.delay_ns);
    }
    EXPECT_EQ(jitters.size(), packets - 1);
    return jitters;
}

TEST(Line, WhatHasNotLeftTakesTheNewJitter) {
    const auto steady = settings_of(800e3, 4 * ms);
    auto jittery = steady;
    jittery.jitter_ns = 1 * ms;
    auto more = steady;
    more.jitter_ns = 4 * ms;

    for (const auto jitter_ns : jitters_after(jittery, steady)) EXPECT_EQ(jitter_ns, 0);
    for (const auto& before : {steady, jittery}) {
        const auto jitters = jitters_after(before, more);
        const auto [least, most] = std::minmax_element(jitters.begin(), jitters.end());
        EXPECT_GE(*least, -4 * ms);
        EXPECT_LE(*most, 4 * ms);
        EXPECT_GT(*most - *least, 6 * ms) << "two hundred draws come near both ends";
    }
}

TEST(Line, LossTakesItsShareOfSegmentsAndTheRestArrivesWhole) {
    auto settings = settings_of(0, 0);
    settings.loss = 0.02;
    Line line(settings, Layer::ip, 3);

    for (int i = 0; i < 1000; ++i) line.offer(i, tcp_packet(20 * 1460));
    drain(line);

    const auto& counters = line.counters();
    EXPECT_EQ(counters.offered, 20'000U);
    EXPECT_EQ(counters.lost + counters.delivered, counters.offered);
    EXPECT_NEAR(static_cast<double>(counters.lost), 400, 80) << "four deviations";
}

TEST(Line, ALostSegmentCutsAGsoPacketInTwo) {
    auto settings = settings_of(0, 0);
    settings.loss = 0.01;
    Line line(settings, Layer::ip, 3);
    std::map<std::size_t, int> pieces;
    for (int i = 0; i < 500; ++i) {
        line.offer(i, tcp_packet(20 * 1460));
        ++pieces[drain(line).size()];
    }

    EXPECT_GT(pieces[1], 350) << "most GSO packets lose nothing, or an end";
    EXPECT_GT(pieces[2], 30);
}

TEST(Line, HeldSegmentsAreOvertaken) {
    auto settings = settings_of(0, 5 * ms);
    settings.reorder = 0.1;
    Line line(settings, Layer::ip, 5);
    for (int i = 0; i < 1000; ++i)
        line.offer(i * 1000, tcp_packet(100, 1460, static_cast<std::uint16_t>(i)));

    const auto arrivals = drain(line);

    std::uint64_t overtaken = 0;
    std::uint32_t newest = 0;
    for (const auto& arrival : arrivals) {
        const auto port = number(arrival.packet, tcp_at, 2);
        overtaken += port < newest ? 1 : 0;
        newest = std::max(newest, port);
    }
    EXPECT_EQ(arrivals.size(), 1000U);
    EXPECT_NEAR(static_cast<double>(line.counters().held), 100, 40);
    EXPECT_GE(overtaken, line.counters().held * 9 / 10);
}

TEST(Line, AFlowGetsNoMoreThanItsCapAndAnotherIsNotHeldUp) {
    auto settings = settings_of(1e9, 0);
    settings.flow_rate_bits_per_s = 1e8;
    Line line(settings, Layer::ip, 1);
    for (int i = 0; i < 10; ++i) line.offer(0, tcp_packet(960, 1460, 1));
    line.offer(0, tcp_packet(960, 1460, 2));

    std::map<std::uint32_t, std::int64_t> last;
    for (const auto& arrival : drain(line))
        last[number(arrival.packet, tcp_at, 2)] = arrival.time_ns;

    EXPECT_EQ(last[1], 10 * 80'000 + 8000);
    EXPECT_LE(last[2], 80'000 + 2 * 8000);
}

TEST(Line, LateCallsChangeNothing) {
    auto settings = settings_of(1e9, 5 * ms);
    settings.flow_rate_bits_per_s = 1e8;
    Line prompt(settings, Layer::ip, 1);
    Line late(settings, Layer::ip, 1);
    std::int64_t last = 0;
    for (int i = 0; i < 50; ++i) {
        prompt.offer(i, tcp_packet(960, 1460, static_cast<std::uint16_t>(i % 3)));
        late.offer(i, tcp_packet(960, 1460, static_cast<std::uint16_t>(i % 3)));
    }
    for (const auto& arrival : drain(prompt)) last = arrival.time_ns;

    int taken = 0;
    while (late.take(last)) ++taken;

    EXPECT_EQ(taken, 50);
    EXPECT_FALSE(late.next_ns());
}

TEST(Line, ACutDropsWhatIsOnTheWayAndWhatComes) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);
    line.offer(0, tcp_packet(960));
    auto settings = line.settings();
    settings.carrier = Carrier::cut;

    line.change(0, settings);
    line.offer(1, tcp_packet(960));

    EXPECT_FALSE(line.next_ns());
    EXPECT_EQ(line.counters().dropped_by_cut, 2U);
}

TEST(Line, AMendedLineCarriesAgain) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);
    auto settings = line.settings();
    settings.carrier = Carrier::cut;
    line.change(0, settings);
    settings.carrier = Carrier::up;
    line.change(0, settings);

    line.offer(1000, tcp_packet(960));

    EXPECT_EQ(line.next_ns(), 1000 + 8000 + 5 * ms);
}

TEST(Line, WhatWaitsLeavesAtTheNewRateAndWhatHasLeftKeepsItsTime) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);
    for (int i = 0; i < 4; ++i) line.offer(0, tcp_packet(960));
    auto settings = line.settings();
    settings.rate_bits_per_s = 1e8;

    line.change(12'000, settings);
    line.offer(12'000, tcp_packet(960));

    // Half of the second is on the link; what is not takes ten times as long.
    std::vector<std::int64_t> times;
    for (const auto& arrival : drain(line)) times.push_back(arrival.time_ns - 5 * ms);
    EXPECT_EQ(times, (std::vector<std::int64_t>{8'000, 52'000, 132'000, 212'000, 292'000}));
}

TEST(Line, WhatHasNotLeftTakesTheNewDelayAndWaitsForWhatHas) {
    Line line(settings_of(1e9, 5 * ms), Layer::ip, 1);
    for (int i = 0; i < 2; ++i) line.offer(0, tcp_packet(960));
    auto settings = line.settings();

    settings.delay_ns = 9 * ms;
    line.change(8'000, settings);
    EXPECT_EQ(line.next_ns(), 8'000 + 5 * ms);
    settings.delay_ns = 1 * ms;
    line.change(9'000, settings);

    std::vector<std::int64_t> times;
    for (const auto& arrival : drain(line)) times.push_back(arrival.time_ns);
    EXPECT_EQ(times, (std::vector<std::int64_t>{8'000 + 5 * ms, 8'000 + 5 * ms}));
}

TEST(Line, AMendedRateFreesTheLinkOfWhatWaitsAtTheFormer) {
    auto slow = settings_of(20e3, 0);
    slow.queue_bytes = 100'000;
    Line line(slow, Layer::ip, 1);
    for (int i = 0; i < 100; ++i) line.offer(0, tcp_packet(960));
    auto settings = slow;
    settings.rate_bits_per_s = 1e8;

    line.change(1 * ms, settings);
    line.offer(20 * ms, tcp_packet(960));

    const auto arrivals = drain(line);
    ASSERT_EQ(arrivals.size(), 101U);
    EXPECT_LT(arrivals[99].time_ns, 10 * ms);
    EXPECT_EQ(arrivals[100].time_ns, 20 * ms + 80'000);
    EXPECT_EQ(line.counters().dropped_by_queue, 0U);
}

TEST(Line, ASlowerRateLeavesNoMoreRoomInTheQueueThanThereIs) {
    auto settings = settings_of(1e9, 0);
    settings.queue_bytes = 10'000;
    Line line(settings, Layer::ip, 1);
    for (int i = 0; i < 10; ++i) line.offer(0, tcp_packet(960));
    settings.rate_bits_per_s = 1e6;

    line.change(0, settings);
    line.offer(0, tcp_packet(960));

    EXPECT_EQ(line.counters().dropped_by_queue, 1U);
    EXPECT_EQ(drain(line).back().time_ns, 10 * 8 * ms);
}

TEST(Line, AFlowWhoseCapIsMendedKeepsTheOrderOfItsPackets) {
    auto settings = settings_of(1e8, 0);
    settings.flow_rate_bits_per_s = 2e5;
    Line line(settings, Layer::ip, 1);
    for (std::uint8_t i = 0; i < 20; ++i) line.offer(0, tcp_packet(960 + i));
    settings.flow_rate_bits_per_s = 0;

    line.change(50 * ms, settings);
    for (std::uint8_t i = 20; i < 40; ++i) line.offer(50 * ms, tcp_packet(960 + i));

    const auto arrivals = drain(line);
    ASSERT_EQ(arrivals.size(), 40U);
    for (std::size_t i = 0; i < arrivals.size(); ++i)
        EXPECT_EQ(arrivals[i].packet.size(), tcp_packet(960 + i).size());
    EXPECT_LT(arrivals.back().time_ns, 60 * ms);
}

TEST(Line, HeldPacketsAndJitterLoseNothingWhenTheRateChanges) {
    auto settings = settings_of(1e8, 3 * ms);
    settings.jitter_ns = 1 * ms;
    settings.reorder = 0.3;
    settings.flow_rate_bits_per_s = 5e7;
    Line line(settings, Layer::ip, 7);
    std::size_t taken = 0;
    std::int64_t now = 0;
    for (int i = 0; i < 1000; ++i) {
        now += 50'000;
        line.offer(now, tcp_packet(960, 1460, static_cast<std::uint16_t>(i % 5)));
        settings.rate_bits_per_s = i % 3 == 0 ? 0 : 1e7 * (1 + i % 40);
        settings.flow_rate_bits_per_s = i % 4 == 0 ? 0 : 1e7 * (1 + i % 13);
        if (i % 10 == 0) line.change(now, settings);
        while (line.take(now)) ++taken;
    }

    EXPECT_EQ(taken + drain(line).size(), 1000U);
    EXPECT_EQ(line.counters().dropped_by_queue, 0U);
}

TEST(Line, TheSameSeedLosesTheSame) {
    auto settings = settings_of(0, 0);
    settings.loss = 0.1;
    Line one(settings, Layer::ip, 11);
    Line two(settings, Layer::ip, 11);

    for (int i = 0; i < 200; ++i) {
        one.offer(i, tcp_packet(100));
        two.offer(i, tcp_packet(100));
        EXPECT_EQ(one.counters().lost, two.counters().lost);
    }
}

}  // namespace
}  // namespace lanewise::testbed
