// SPDX-License-Identifier: BSD-3-Clause
//
// Smoothed round-trip time and its deviation, and from them how long to wait before probing for an
// acknowledgement (RFC 6298). Packets that were sent twice are not timed, since nobody knows which
// copy was acknowledged. So the wait doubles with each probe, and the next wait is as long, or half
// as long where the probe was needed (Karn's algorithm): otherwise a round trip that takes longer
// than the first wait would never be measured.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "verbs/proto/wire/psn.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

class RttEstimator {
  public:
    // A packet that requests an acknowledgement is sent for the first time.
    void on_sent(Psn psn, Nanoseconds now) {
        if (!timed_) {
            timed_ = Timed{psn, now};
        }
    }
    // Everything before `psn` is acknowledged.
    void on_acknowledged(Psn psn, Nanoseconds now) {
        if (timed_ && before(timed_->psn, psn)) {
            add(now - timed_->at);
            timed_.reset();
        }
    }
    // Something is sent again.
    void discard_sample() { timed_.reset(); }

    // No acknowledgement came in time.
    void on_probe() { doublings_ = std::min(doublings_ + 1, doublings_max); }
    // The only probe was answered after that time, and it was needed. While nothing else is known,
    // it is taken for a round trip.
    void on_needed_probe(Nanoseconds took) {
        doublings_ -= doublings_ > 0 ? 1 : 0;
        if (mean_ == 0) {
            mean_ = took;
            deviation_ = took / 2;
        }
    }

    Nanoseconds probe_timeout_ns(Nanoseconds least) const {
        return std::max(least, mean_ + 4 * deviation_) << doublings_;
    }
    // The smoothed round trip; 0 while none is known.
    Nanoseconds mean_ns() const { return mean_; }
    // The shortest that was measured; 0 while none is known.
    Nanoseconds shortest_ns() const { return shortest_; }
    // Whether what was sent at `sent` can have been answered by now. The shortest round trip that
    // was measured may include the delay of an acknowledgement, which a probe does not have.
    bool may_be_answered(Nanoseconds sent, Nanoseconds now) const {
        return now - sent >= shortest_ - shortest_ / 8;
    }

  private:
    static constexpr unsigned doublings_max = 8;

    struct Timed {
        Psn psn;
        Nanoseconds at = 0;
    };

    void add(Nanoseconds sample) {
        if (sample <= 0) {  // the caller read the clock before the packet left
            return;
        }
        doublings_ = 0;
        shortest_ = shortest_ == 0 ? sample : std::min(shortest_, sample);
        if (mean_ == 0) {
            mean_ = sample;
            deviation_ = sample / 2;
            return;
        }
        deviation_ += (std::abs(sample - mean_) - deviation_) / 4;
        mean_ += (sample - mean_) / 8;
    }

    std::optional<Timed> timed_;
    Nanoseconds shortest_ = 0;
    Nanoseconds mean_ = 0;
    Nanoseconds deviation_ = 0;
    unsigned doublings_ = 0;
};

}  // namespace lanewise::verbs
