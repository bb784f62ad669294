// SPDX-License-Identifier: BSD-3-Clause
//
// Combine: sums, products, maxima and minima of two vectors, in the same bits wherever they are
// computed. An MPI may multiply complex numbers in one way or another, and which NaN comes out of
// two depends on how a loop was compiled, so reductions that promise bits use these.
//
// Each operation is rounded once, to nearest, ties to even, whatever the program has chosen, and
// subnormal numbers count. A NaN is the quiet one without sign and payload. A complex product is
// (ac - bd) + (ad + bc)i as written, without the correction of infinities that C knows. A maximum
// or minimum is a NaN where an operand is, and -0 is smaller than +0 (maximum and minimum of IEEE
// 754-2019, 9.6), so that it does not depend on the order of operands.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lanewise::sums {

/* The numbers of a vector: `per_element` in an element, two where they are complex. */
struct Numbers {
    bool are_doubles = true; /* else floats */
    int per_element = 1;
};

enum class Combining : std::uint8_t { sum, product, maximum, minimum };

template <typename Real>
Real maximum(Real a, Real b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}

template <typename Real>
Real minimum(Real a, Real b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}

/* `result` becomes `left` op `right`, of `count` elements each. It is an operand or lies apart from
   both. */
using Combine = void (*)(const std::byte *left, const std::byte *right, std::byte *result,
                         std::int64_t count);

/* Maxima and minima are of real numbers. */
Combine combine_by(Combining combining, Numbers numbers);

}  // namespace lanewise::sums
