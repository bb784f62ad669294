// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of sums, compiled once for each kind of processor. They call nothing, so that no code
// for one kind gets into a program for another.

#pragma once

#include <cstdint>
#include <limits>

namespace lanewise::sums {

/* Each `b` becomes a + b, with the one NaN. */
struct AddLoops {
    void (*doubles)(const double *a, double *b, std::int64_t count);
    void (*floats)(const float *a, float *b, std::int64_t count);
};

/* For processors that have AVX2. */
extern const AddLoops add_loops_avx2;

namespace {

template <typename Real>
void add_numbers(const Real *a, Real *b, std::int64_t count) {
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    for (std::int64_t i = 0; i < count; ++i) {
        const Real sum = a[i] + b[i];
        b[i] = __builtin_isnan(sum) ? nan : sum;
    }
}

}  // namespace
}  // namespace lanewise::sums
