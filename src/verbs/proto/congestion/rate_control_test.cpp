// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/congestion/rate_control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>

namespace lanewise::verbs {
namespace {

constexpr Nanoseconds microsecond_ns = 1'000;
constexpr Nanoseconds millisecond_ns = 1'000'000;
constexpr Nanoseconds second_ns = 1'000'000'000;
constexpr std::size_t packet_bytes = 1'000;

// Sends at 80 Mbit/s, a packet every 100 µs.
Nanoseconds send_steadily(RateControl& control, Nanoseconds from, Nanoseconds duration) {
    Nanoseconds now = from;
    for (; now < from + duration; now += 100 * microsecond_ns) control.on_sent(packet_bytes, now);
    return now;
}

TEST(RateControl, HoldsNothingBackBeforeTheFirstNotification) {
    RateControl control;
    send_steadily(control, second_ns, 10 * millisecond_ns);

    EXPECT_FALSE(control.is_limited());
    EXPECT_EQ(control.next_departure(2 * second_ns), 0);
}

TEST(RateControl, HalvesTheRateThatWasUsedAtTheFirstNotification) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);

    EXPECT_TRUE(control.on_notification(now, 0));
    EXPECT_NEAR(control.rate_bits_per_s(), 40e6, 4e6);
}

TEST(RateControl, SpacesPacketsByItsRate) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, second_ns);

    const Nanoseconds first = control.next_departure(now);
    control.on_sent(packet_bytes, now);
    const Nanoseconds begun = control.next_departure(now);
    for (int sent = 0; sent < 10; ++sent) control.on_sent(packet_bytes, now);

    EXPECT_LE(first, now);
    EXPECT_NEAR(static_cast<double>(control.next_departure(now) - begun),
                10 * 8e9 * packet_bytes / control.rate_bits_per_s(), 1e3);
}

TEST(RateControl, CutsOnceInARoundTrip) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    ASSERT_TRUE(control.on_notification(now, millisecond_ns));
    const double after_one = control.rate_bits_per_s();

    EXPECT_FALSE(control.on_notification(now + millisecond_ns / 2, millisecond_ns));
    EXPECT_EQ(control.rate_bits_per_s(), after_one);
    EXPECT_TRUE(control.on_notification(now + millisecond_ns, millisecond_ns));
    EXPECT_LT(control.rate_bits_per_s(), after_one);
}

TEST(RateControl, GoesHalfwayBackInEachPeriodOfFastRecovery) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    const double cut = control.rate_bits_per_s();

    for (int period = 1; period <= 5; ++period) {
        control.next_departure(now + period * millisecond_ns);
        EXPECT_NEAR(control.rate_bits_per_s(), 2 * cut - cut / (1 << period), 1e3) << period;
    }
}

TEST(RateControl, RisesBeyondTheOldRateBySmallStepsAfterFastRecovery) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    const double before = 2 * control.rate_bits_per_s();

    control.next_departure(now + 25 * millisecond_ns);
    const double later = control.rate_bits_per_s();
    control.next_departure(now + 35 * millisecond_ns);

    EXPECT_GT(later, before);
    EXPECT_NEAR(control.rate_bits_per_s() - later, 10 * 5e6, 1e6);
}

TEST(RateControl, RisesFasterWhereBothTheTimeAndTheBytesAreManySteps) {
    RateControl by_time;
    RateControl by_both;
    const Nanoseconds now = send_steadily(by_time, second_ns, 10 * millisecond_ns);
    send_steadily(by_both, second_ns, 10 * millisecond_ns);
    for (RateControl *one : {&by_time, &by_both}) one->on_notification(now, millisecond_ns);
    for (int step = 0; step < 10; ++step) by_both.on_sent(10'000'000, now);

    for (RateControl *one : {&by_time, &by_both}) one->next_departure(now + 20 * millisecond_ns);

    EXPECT_GT(by_both.rate_bits_per_s(), by_time.rate_bits_per_s() + 10 * 45e6);
}

TEST(RateControl, EndsFastRecoveryAfterFivePeriods) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    const double cut = control.rate_bits_per_s();

    control.next_departure(now + 6 * millisecond_ns);

    EXPECT_NEAR(control.rate_bits_per_s(), 2 * cut - cut / 64 + 5e6 / 2, 1.0);
}

TEST(RateControl, RisesAStepWithEveryTenMegabytes) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, second_ns);
    const double cut = control.rate_bits_per_s();

    for (const double expected : {1.5 * cut, 1.75 * cut, 1.875 * cut}) {
        const double before = control.rate_bits_per_s();
        control.on_sent(9'999'999, now);
        EXPECT_EQ(control.rate_bits_per_s(), before);
        control.on_sent(1, now);
        EXPECT_NEAR(control.rate_bits_per_s(), expected, 1.0);
    }
}

TEST(RateControl, TakesLargeStepsOnceBothCountsAreMoreThanFive) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    double rate = control.rate_bits_per_s();
    double target = 2 * rate;
    const auto step = [&](double increment) {
        target += increment;
        rate = (rate + target) / 2;
    };
    for (int bytes = 1; bytes <= 6; ++bytes) step(bytes > 5 ? 5e6 : 0);
    for (int period = 1; period <= 8; ++period) step(period > 5 ? 50e6 : 5e6);

    for (int bytes = 1; bytes <= 6; ++bytes) control.on_sent(10'000'000, now);
    control.next_departure(now + 8 * millisecond_ns);

    EXPECT_NEAR(control.rate_bits_per_s(), rate, 1.0);
}

TEST(RateControl, BeginsFastRecoveryAnewWithEachCut) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    now += 5 * millisecond_ns;
    for (int bytes = 1; bytes <= 6; ++bytes) control.on_sent(10'000'000, now);
    control.on_sent(9'999'999, now);
    control.next_departure(now);
    const double target = control.rate_bits_per_s();
    ASSERT_TRUE(control.on_notification(now, millisecond_ns));
    const double cut = control.rate_bits_per_s();

    control.on_sent(1, now);
    EXPECT_EQ(control.rate_bits_per_s(), cut);
    control.next_departure(now + millisecond_ns);
    EXPECT_NEAR(control.rate_bits_per_s(), (cut + target) / 2, 1.0);
}

TEST(RateControl, HoldsNothingBackOnceItsRateIsAboveAnyThatIsSent) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    now += 10 * second_ns;
    control.next_departure(now);
    EXPECT_TRUE(control.is_limited());
    now += 15 * second_ns;

    EXPECT_EQ(control.next_departure(now), 0);
    EXPECT_FALSE(control.is_limited());

    // The next notification is a first one again.
    now = send_steadily(control, now, 10 * millisecond_ns);
    EXPECT_TRUE(control.on_notification(now, millisecond_ns));
    EXPECT_EQ(control.alpha(), 1.0);
    EXPECT_NEAR(control.rate_bits_per_s(), 40e6, 4e6);
}

TEST(RateControl, CountsNotificationsByThePeriodOfTheTimersWhereRoundTripsAreShorter) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    ASSERT_TRUE(control.on_notification(now, 1));

    EXPECT_FALSE(control.on_notification(now + RateControl::period_least_ns - 1, 1));
    EXPECT_TRUE(control.on_notification(now + RateControl::period_least_ns, 1));
}

TEST(RateControl, ForgetsASixteenthOfItsNotificationsInEachPeriod) {
    RateControl control;
    const Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    EXPECT_EQ(control.alpha(), 1.0);

    control.next_departure(now + 3 * millisecond_ns);
    EXPECT_NEAR(control.alpha(), 15.0 * 15 * 15 / 4096, 1e-12);
    const double rate = control.rate_bits_per_s();
    // The fourth period ends with the notification.
    control.on_notification(now + 4 * millisecond_ns, millisecond_ns);
    const double alpha = 15.0 * 15 * 15 * 15 / 65536;
    EXPECT_NEAR(control.alpha(), alpha * 15 / 16 + 1.0 / 16, 1e-12);
    EXPECT_LT(control.rate_bits_per_s(), rate);
}

TEST(RateControl, CutsLessWhereNotificationsAreRare) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    const double alpha_at_first = control.alpha();

    now = send_steadily(control, now, 100 * millisecond_ns);
    control.next_departure(now);

    EXPECT_LT(control.alpha(), alpha_at_first / 100);
}

TEST(RateControl, NeverFallsBelowTheLeastRate) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    for (int cut = 0; cut < 50; ++cut, now += millisecond_ns)
        control.on_notification(now, millisecond_ns);

    EXPECT_EQ(control.rate_bits_per_s(), RateControl::rate_least_bits_per_s);
}

TEST(RateControl, CutsFromTheRateInUseWhereThatIsLess) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, millisecond_ns);
    now = send_steadily(control, now, second_ns);
    control.next_departure(now);  // its limit is far above 80 Mbit/s by now
    ASSERT_GT(control.rate_bits_per_s(), 1e9);

    control.on_notification(now, millisecond_ns);
    EXPECT_LT(control.rate_bits_per_s(), 1.3 * 80e6);
}

TEST(RateControl, LetsALateTimerSendALittleAtOnce) {
    RateControl control;
    Nanoseconds now = send_steadily(control, second_ns, 10 * millisecond_ns);
    control.on_notification(now, second_ns);
    control.on_sent(packet_bytes, now);
    now += 100 * millisecond_ns;

    std::size_t sent = 0;
    for (; control.next_departure(now) <= now; ++sent) control.on_sent(packet_bytes, now);

    const double credit_bytes = control.rate_bits_per_s() / 8e9 * RateControl::burst_ns;
    EXPECT_NEAR(static_cast<double>(sent * packet_bytes), credit_bytes, 2 * packet_bytes);
}

TEST(MarkReport, TellsTheFirstMarkAndOneInEachPause) {
    MarkReport report;
    EXPECT_TRUE(report.is_due(second_ns));
    EXPECT_FALSE(report.is_due(second_ns + MarkReport::pause_ns - 1));
    EXPECT_TRUE(report.is_due(second_ns + MarkReport::pause_ns));
}

// Two senders at a bottleneck of 1 Gbit/s with 1 ms of delay, whose queue marks packets as random
// early detection does: none below 100 kB, all from 400 kB on. Each has at most 512 kB in flight.
class Bottleneck {
  public:
    static constexpr double bytes_per_ns = 0.125;

    // Lets the first `count` senders send, and counts anew what they do.
    void run(Nanoseconds duration, std::size_t count) {
        longest_queue_bytes_ = 0;
        for (Sender& one : senders_) one.sent_bytes = 0;
        for (const Nanoseconds end = now_ + duration; now_ < end; now_ += 10 * microsecond_ns) {
            take_responses();
            const std::size_t begin = random_() % count;
            for (std::size_t step = 0; step < count; ++step) send((begin + step) % count);
        }
    }
    double sent_bytes(std::size_t at) const { return senders_.at(at).sent_bytes; }
    double longest_queue_bytes() const { return longest_queue_bytes_; }

  private:
    struct Sender {
        RateControl control;
        MarkReport report;
        std::size_t in_flight_bytes = 0;
        double sent_bytes = 0;
    };
    struct Response {
        std::size_t sender = 0;
        Nanoseconds at = 0;
        Nanoseconds sent_at = 0;
        bool is_marked = false;
    };

    void take_responses() {
        for (; !responses_.empty() && responses_.front().at <= now_; responses_.pop_front()) {
            const Response& one = responses_.front();
            Sender& from = senders_.at(one.sender);
            from.in_flight_bytes -= packet_bytes;
            if (one.is_marked && from.report.is_due(now_)) {
                from.control.on_notification(now_, now_ - one.sent_at);
            }
        }
    }
    void send(std::size_t at) {
        Sender& from = senders_.at(at);
        for (int packets = 0; packets < 2; ++packets) {
            if (from.in_flight_bytes + packet_bytes > 512'000) return;
            if (from.control.next_departure(now_) > now_) return;
            const double queue_bytes =
                static_cast<double>(std::max(free_at_ - now_, Nanoseconds{0})) * bytes_per_ns;
            longest_queue_bytes_ = std::max(longest_queue_bytes_, queue_bytes);
            free_at_ =
                std::max(free_at_, now_) + static_cast<Nanoseconds>(packet_bytes / bytes_per_ns);
            const double share = (queue_bytes - 100'000) / 300'000;
            responses_.push_back(
                {.sender = at,
                 .at = free_at_ + 2 * millisecond_ns,
                 .sent_at = now_,
                 .is_marked = static_cast<double>(random_() % 1000) < 1000 * share});
            from.control.on_sent(packet_bytes, now_);
            from.in_flight_bytes += packet_bytes;
            from.sent_bytes += packet_bytes;
        }
    }

    std::array<Sender, 2> senders_;
    std::deque<Response> responses_;
    std::mt19937 random_{1};
    Nanoseconds now_ = second_ns;
    Nanoseconds free_at_ = 0;
    double longest_queue_bytes_ = 0;
};

TEST(RateControl, SharesABottleneckFairlyWithAShortQueueAndLittleIdleTime) {
    Bottleneck bottleneck;
    bottleneck.run(second_ns, 1);
    bottleneck.run(2 * second_ns, 2);
    bottleneck.run(2 * second_ns, 2);

    const double sum = bottleneck.sent_bytes(0) + bottleneck.sent_bytes(1);
    EXPECT_GT(sum, 0.9 * Bottleneck::bytes_per_ns * 2 * second_ns);
    EXPECT_NEAR(bottleneck.sent_bytes(0) / sum, 0.5, 0.05);
    EXPECT_LT(bottleneck.longest_queue_bytes(), 400'000);
}

}  // namespace
}  // namespace lanewise::verbs
