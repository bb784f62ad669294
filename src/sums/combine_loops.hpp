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

/* For processors that have AVX2, and for those that have AVX-512 F, VL and DQ. */
extern const AddLoops add_loops_avx2;
extern const AddLoops add_loops_avx512;

namespace {

template <typename Real>
void add_numbers(const Real *a, Real *b, std::int64_t count) {
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    for (std::int64_t i = 0; i < count; ++i) {
        const Real sum = a[i] + b[i];
        b[i] = __builtin_isnan(sum) ? nan : sum;
    }
}

/* The same for wide registers. Hardly any sum is a NaN, so one test for many is enough. Of 64
 * numbers, GCC keeps what it tests in registers; fewer it unrolls into single ones. */
template <typename Real>
void add_many_numbers(const Real *a, Real *b, std::int64_t count) {
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    constexpr std::int64_t together = 64;
    for (; count >= together; count -= together, a += together, b += together) {
        int nans = 0;
        for (int i = 0; i < together; ++i) {
            const Real sum = a[i] + b[i];
            b[i] = sum;
            nans |= static_cast<int>(__builtin_isnan(sum));
        }
        if (nans == 0) continue;
        for (int i = 0; i < together; ++i) b[i] = __builtin_isnan(b[i]) ? nan : b[i];
    }
    add_numbers(a, b, count);
}

}  // namespace
}  // namespace lanewise::sums
