// SPDX-License-Identifier: BSD-3-Clause
//
// Weighted least squares around the weighted mean time, which keeps the sums small.

#include "measure/clock_sync/clock_model.hpp"

#include <algorithm>

namespace lanewise::measure {
namespace {

// No bracket is trusted beyond the resolution of a clock reading.
constexpr double resolution_s = 10e-9;

double weight(const Offset& offset) {
    const double width = std::max(offset.uncertainty_s, resolution_s);
    return 1.0 / (width * width);
}

}  // namespace

ClockModel fit_clock(std::span<const Offset> offsets) {
    double total = 0.0;
    double time = 0.0;
    double value = 0.0;
    const double first_s = offsets.front().at_s;
    for (const auto& offset : offsets) {
        total += weight(offset);
        time += weight(offset) * (offset.at_s - first_s);
        value += weight(offset) * offset.offset_s;
    }
    ClockModel model{first_s + time / total, value / total, 0.0};
    double spread = 0.0;
    double shared = 0.0;
    for (const auto& offset : offsets) {
        const double dt = offset.at_s - model.origin_s;
        spread += weight(offset) * dt * dt;
        shared += weight(offset) * dt * (offset.offset_s - model.offset_s);
    }
    if (spread > 0.0) model.slope = shared / spread;
    return model;
}

}  // namespace lanewise::measure
