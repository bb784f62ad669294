// SPDX-License-Identifier: BSD-3-Clause
//
// Line: the least-squares line through times of many magnitudes.
//
// Each point is weighted by the inverse square of its time, which minimises the relative error:
// plain least squares would fit the longest messages alone and leave the latency to their noise.
// Times cannot be negative, nor can their components: a coefficient below 0 is clamped to 0 and the
// other one is fitted again.

#pragma once

#include <span>

namespace lanewise::model {

struct Mark {
    double x = 0.0;
    double y = 0.0;
    double scale = 1.0; /* the weight is 1 / scale^2 */
};

struct Line {
    double intercept = 0.0;
    double slope = 0.0;
    double cut_intercept = 0.0; /* what was found below 0 and set to 0; else 0 */
    double cut_slope = 0.0;

    double at(double x) const { return intercept + slope * x; }
};

/* With a single x it is level. */
Line fit_line(std::span<const Mark> marks);

/* Through the origin. May be negative. */
double fit_slope(std::span<const Mark> marks);

}  // namespace lanewise::model
