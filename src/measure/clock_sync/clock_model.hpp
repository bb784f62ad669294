// SPDX-License-Identifier: BSD-3-Clause
//
// Clock model: a straight line from a local clock to the global one.
//
//     global(t) = t + offset + slope (t - origin)
//
// fitted by least squares to offsets measured at several times, each weighted
// by the inverse square of its uncertainty, so that an exchange during which
// a rank was descheduled hardly counts. Pure.

#pragma once

#include <algorithm>
#include <limits>
#include <span>

namespace lanewise::measure {

/* global minus local, as bracketed by exchanges around local time `at_s`. */
struct Offset {
    double at_s = 0.0;
    double offset_s = 0.0;
    double uncertainty_s = 0.0;
};

/*
 * Where another clock stands, from exchanges of time stamps. The other's stamp was
 * taken between sending and receiving, so the offset lies between "stamp - received"
 * and "stamp - sent" of every exchange. All exchanges together leave the narrowest
 * bracket (SKaMPI), as long as the clocks did not drift apart between them. Where
 * they did, the bracket is empty, and the quickest exchange alone is used: it is
 * right for its own time.
 */
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

struct ClockModel {
    double origin_s = 0.0;
    double offset_s = 0.0;
    double slope = 0.0;

    double global_s(double local_s) const {
        return local_s + (offset_s + slope * (local_s - origin_s));
    }
};

/* At least one offset; with one, or with no spread in time, the slope is zero. */
ClockModel fit_clock(std::span<const Offset> offsets);

}  // namespace lanewise::measure
