// SPDX-License-Identifier: BSD-3-Clause
//
// Bracket: where another clock stands, from exchanges of time stamps.
//
// The other's stamp was taken between sending and receiving, so the offset lies
// between "stamp - received" and "stamp - sent" of every exchange. All of them
// together leave the narrowest bracket (SKaMPI), as long as the clocks did not
// drift apart between them. Where they did, the bracket is empty, and only the
// quickest exchange is believed: for its own time it is right. Pure.

#pragma once

#include <algorithm>
#include <limits>

#include "measure/clock_sync/clock_model.hpp"

namespace lanewise::measure {

class Bracket {
  public:
    void add(double sent_s, double stamp_s, double received_s) {
        const double low_s = stamp_s - received_s;
        const double high_s = stamp_s - sent_s;
        low_s_ = std::max(low_s_, low_s);
        high_s_ = std::min(high_s_, high_s);
        if (high_s - low_s >= 2.0 * quickest_.uncertainty_s) return;
        quickest_ = {0.5 * (sent_s + received_s), 0.5 * (low_s + high_s), 0.5 * (high_s - low_s)};
    }

    /* After at least one exchange. */
    Offset offset() const {
        if (low_s_ > high_s_) return quickest_;
        return {quickest_.at_s, 0.5 * (low_s_ + high_s_), 0.5 * (high_s_ - low_s_)};
    }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    double low_s_ = -infinity;
    double high_s_ = infinity;
    Offset quickest_{0.0, 0.0, infinity};
};

}  // namespace lanewise::measure
