// SPDX-License-Identifier: BSD-3-Clause
//
// Smoothed round-trip time and its deviation, and from them how long to wait before probing for an
// acknowledgement (RFC 6298). Packets that were sent twice are not timed (Karn's algorithm), since
// nobody knows which copy was acknowledged.

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

    Nanoseconds probe_timeout_ns(Nanoseconds least) const {
        return std::max(least, mean_ + 4 * deviation_);
    }
    // The smoothed round trip; 0 while none is known.
    Nanoseconds mean_ns() const { return mean_; }
    // Whether what was sent at `sent` can have been answered by now.
    bool may_be_answered(Nanoseconds sent, Nanoseconds now) const { return now - sent >= least_; }

  private:
    struct Timed {
        Psn psn;
        Nanoseconds at = 0;
    };

    void add(Nanoseconds sample) {
        least_ = mean_ == 0 ? sample : std::min(least_, sample);
        if (mean_ == 0) {
            mean_ = sample;
            deviation_ = sample / 2;
            return;
        }
        deviation_ += (std::abs(sample - mean_) - deviation_) / 4;
        mean_ += (sample - mean_) / 8;
    }

    std::optional<Timed> timed_;
    Nanoseconds least_ = 0;
    Nanoseconds mean_ = 0;
    Nanoseconds deviation_ = 0;
};

}  // namespace lanewise::verbs
