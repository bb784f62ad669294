// SPDX-License-Identifier: BSD-3-Clause
//
// The time of a round trip, smoothed, and from it how long to wait for an answer before asking for
// it (RFC 6298). Packets that were sent twice are not timed, since nobody knows which was answered.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "verbs/proto/wire/psn.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

class RoundTrip {
  public:
    // A packet that wants an answer leaves for the first time.
    void on_sent(Psn psn, Nanoseconds now) {
        if (!timed_) {
            timed_ = Timed{psn, now};
        }
    }
    // All before `psn` is answered.
    void on_answer(Psn psn, Nanoseconds now) {
        if (timed_ && before(timed_->psn, psn)) {
            add(now - timed_->at);
            timed_.reset();
        }
    }
    // Something is sent again.
    void forget() { timed_.reset(); }

    Nanoseconds patience_ns(Nanoseconds least) const {
        return std::max(least, mean_ + 4 * deviation_);
    }

  private:
    struct Timed {
        Psn psn;
        Nanoseconds at = 0;
    };

    void add(Nanoseconds sample) {
        if (mean_ == 0) {
            mean_ = sample;
            deviation_ = sample / 2;
            return;
        }
        deviation_ += (std::abs(sample - mean_) - deviation_) / 4;
        mean_ += (sample - mean_) / 8;
    }

    std::optional<Timed> timed_;
    Nanoseconds mean_ = 0;
    Nanoseconds deviation_ = 0;
};

}  // namespace lanewise::verbs
