// SPDX-License-Identifier: BSD-3-Clause
//
// The rate of a queue pair whose packets meet full queues: the reaction point of DCQCN (Zhu et al.,
// Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 5). A notification
// cuts the rate by half of `alpha`, the share of the time in which there were notifications. From
// then on the rate goes back halfway to where it was, again and again (fast recovery), then that
// target rises, too (additive increase, hyper increase).
//
// The constants of the paper are those of a network whose round trip takes a few microseconds. Here
// a processor in between takes longer than that, and a testbed's links longer still. So the period
// of the timers is a round trip where that is longer than the paper's 55 µs, notifications within
// one round trip count once, since they tell of packets that were sent before the cut, and `alpha`
// follows as fast as in DCTCP, which counts by round trips as well (Alizadeh et al., SIGCOMM 2010).
// The increments are the defaults of ConnectX.
//
// A card begins at the rate of its link. A device in software has no such rate, so the first cut
// begins at the rate that was used, and no cut begins far above that.

#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

class RateControl {
  public:
    static constexpr double rate_least_bits_per_s = 10e6;
    static constexpr Nanoseconds period_least_ns = 55'000;
    // What a late timer may send at once, beyond the packet that is due.
    static constexpr Nanoseconds burst_ns = 500'000;

    void reset() { *this = {}; }

    // The peer says that a packet was marked. False where that tells nothing new.
    bool on_notification(Nanoseconds now, Nanoseconds round_trip_ns);
    void on_sent(std::size_t bytes, Nanoseconds now);
    // When the next packet may leave; 0 while nothing holds it back.
    Nanoseconds next_departure(Nanoseconds now);

    bool is_limited() const { return is_limited_; }
    double rate_bits_per_s() const { return rate_; }
    double alpha() const { return alpha_; }

  private:
    void advance(Nanoseconds now);
    void increase();
    double used_rate(Nanoseconds now) const;

    bool is_limited_ = false;
    double rate_ = 0;    // R_C of the paper, in bits per second
    double target_ = 0;  // R_T
    double alpha_ = 1;
    Nanoseconds period_ns_ = period_least_ns;
    Nanoseconds cut_at_ = 0;
    Nanoseconds alpha_falls_at_ = never;
    Nanoseconds rate_rises_at_ = never;
    std::uint64_t bytes_ = 0;     // since the byte counter's last step
    unsigned time_steps_ = 0;     // T
    unsigned byte_steps_ = 0;     // BC
    Nanoseconds departs_at_ = 0;  // the next packet
    // What was sent, from which the rate is known that was used.
    Nanoseconds counted_since_ = 0;
    std::uint64_t counted_bytes_ = 0;
    double counted_rate_ = 0;  // of the interval before
};

// The notification point: a receiver of marked packets tells the sender at once, but not again for
// a while.
class MarkReport {
  public:
    static constexpr Nanoseconds pause_ns = 50'000;

    // A marked packet has come. Whether the sender is to be told.
    bool is_due(Nanoseconds now) {
        if (now < next_) return false;
        next_ = now + pause_ns;
        return true;
    }

  private:
    Nanoseconds next_ = 0;
};

}  // namespace lanewise::verbs
