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

#include <span>

namespace lanewise::measure {

/* global minus local, as bracketed by exchanges around local time `at_s`. */
struct Offset {
    double at_s = 0.0;
    double offset_s = 0.0;
    double uncertainty_s = 0.0;
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
