// SPDX-License-Identifier: BSD-3-Clause
//
// Rounding: the floating-point number that is nearest to an exact sum.
//
// An exact sum is a row of signed digits: digit i counts 2^(lowest + i * digit_bits), and may be
// larger than its place, so that digits can be added without carries. To round is to carry, to find
// the first bit, and to keep as many bits as the format has, ties to even (IEEE 754-2019, 4.3.1).

#pragma once

#include <cstdint>
#include <span>

namespace lanewise::sums {

struct Digits {
    std::span<std::int64_t> digits; /* least first; rounding carries in them */
    int digit_bits = 32;            /* 32 to 62 */
    int lowest = 0;                 /* the exponent of bit 0 of digit 0 */
};

/* Carries until every digit but the last is in [0, 2^digit_bits); the last has the sign. The value
   stays the same, provided the last digit has room for what is carried into it. */
void carry(const Digits& exact);

/* The nearest numbers; infinite where that is beyond the format. Zero is +0. They are made of
   integers, so no mode of rounding matters. */
double nearest_double(const Digits& exact);
float nearest_float(const Digits& exact);

}  // namespace lanewise::sums
