// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/line.hpp"

namespace lanewise::model {
namespace {

struct Sums {
    double w = 0.0;
    double wx = 0.0;
    double wy = 0.0;
    double wxx = 0.0;
    double wxy = 0.0;
};

Sums sums_of(std::span<const Mark> marks) {
    Sums sums;
    for (const auto& mark : marks) {
        const double weight = mark.scale > 0.0 ? 1.0 / (mark.scale * mark.scale) : 1.0;
        sums.w += weight;
        sums.wx += weight * mark.x;
        sums.wy += weight * mark.y;
        sums.wxx += weight * mark.x * mark.x;
        sums.wxy += weight * mark.x * mark.y;
    }
    return sums;
}

}  // namespace

Line fit_line(std::span<const Mark> marks) {
    Line line;
    const auto sums = sums_of(marks);
    if (sums.w <= 0.0) return line;
    const double spread = sums.w * sums.wxx - sums.wx * sums.wx;
    // Marks that share one x leave rounding where the spread should be 0.
    if (!(spread > 1e-12 * sums.w * sums.wxx)) {
        line.intercept = sums.wy / sums.w;
        return line;
    }
    line.slope = (sums.w * sums.wxy - sums.wx * sums.wy) / spread;
    line.intercept = (sums.wy - line.slope * sums.wx) / sums.w;
    if (line.slope < 0.0) {
        line.cut_slope = line.slope;
        line.slope = 0.0;
        line.intercept = sums.wy / sums.w;
    }
    if (line.intercept < 0.0) {
        line.cut_intercept = line.intercept;
        line.intercept = 0.0;
        line.slope = sums.wxx > 0.0 ? sums.wxy / sums.wxx : 0.0;
    }
    return line;
}

double fit_slope(std::span<const Mark> marks) {
    const auto sums = sums_of(marks);
    return sums.wxx > 0.0 ? sums.wxy / sums.wxx : 0.0;
}

}  // namespace lanewise::model
