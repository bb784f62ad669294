// SPDX-License-Identifier: BSD-3-Clause
//
// Stops a compiler that was told to take liberties: it would compute the errors of roundings, of
// which exact sums are made, to zero, and would not see a NaN.

#pragma once

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "exact sums need every rounding of IEEE 754: compile with -fno-fast-math behind other flags"
#endif
