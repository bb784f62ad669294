// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of sums, compiled once for each kind of processor. They call nothing, so that no code
// for one kind gets into a program for another.

#pragma once

#include <cstdint>
#include <limits>

#include "sums/every_rounding.hpp"

namespace lanewise::sums {

/* The sums a + b, with the one NaN. They may take the place of `a` or `b`. */
struct AddLoops {
    void (*doubles)(const double *a, const double *b, double *sums, std::int64_t count);
    void (*floats)(const float *a, const float *b, float *sums, std::int64_t count);
};

/* For processors that have AVX2, and for those that have AVX-512 F, VL and DQ. */
extern const AddLoops add_loops_avx2;
extern const AddLoops add_loops_avx512;

namespace {

// Each number depends on no other, which a compiler cannot know of pointers that may be equal:
// `omp simd` tells it.

template <typename Real>
void add_numbers(const Real *a, const Real *b, Real *sums, std::int64_t count) {
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        const Real sum = a[i] + b[i];
        sums[i] = __builtin_isnan(sum) ? nan : sum;
    }
}

/* The same for the widest registers. Hardly any sum is a NaN, so one test for many is enough. Of 64
 * numbers, GCC keeps what it tests in registers; fewer it unrolls into single ones. With registers
 * of half the width a test for each number takes no longer, and far less where the result lies
 * apart. */
template <typename Real>
void add_many_numbers(const Real *a, const Real *b, Real *sums, std::int64_t count) {
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    constexpr std::int64_t together = 64;
    for (; count >= together; count -= together, a += together, b += together, sums += together) {
        int nans = 0;
#pragma omp simd reduction(| : nans)
        for (int i = 0; i < together; ++i) {
            const Real sum = a[i] + b[i];
            sums[i] = sum;
            nans |= static_cast<int>(__builtin_isnan(sum));
        }
        if (nans == 0) continue;
        for (int i = 0; i < together; ++i) sums[i] = __builtin_isnan(sums[i]) ? nan : sums[i];
    }
    add_numbers(a, b, sums, count);
}

}  // namespace
}  // namespace lanewise::sums
