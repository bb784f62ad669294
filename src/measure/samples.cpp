// SPDX-License-Identifier: BSD-3-Clause
//
// Reading samples through the C API.

#include "measure/samples.hpp"

#include <limits>

namespace {

const lanewise::measure::Measured *at(const lw_samples *samples, size_t index) {
    return samples && index < samples->points.size() ? &samples->points[index] : nullptr;
}

}  // namespace

size_t lw_samples_count(const lw_samples *samples) { return samples ? samples->points.size() : 0; }

lw_status lw_samples_point(const lw_samples *samples, size_t index, lw_point *point) {
    const auto *measured = at(samples, index);
    if (!measured || !point) return LW_ERR_ARGUMENT;
    *point = measured->point;
    return LW_OK;
}

double lw_samples_median(const lw_samples *samples, size_t index) {
    const auto *measured = at(samples, index);
    return measured ? measured->point.median_s : std::numeric_limits<double>::quiet_NaN();
}

const double *lw_samples_values(const lw_samples *samples, size_t index, size_t *count) {
    const auto *measured = at(samples, index);
    if (count) *count = measured ? measured->values_s.size() : 0;
    return measured ? measured->values_s.data() : nullptr;
}

void lw_samples_free(lw_samples *samples) { delete samples; }
