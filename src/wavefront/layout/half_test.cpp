// SPDX-License-Identifier: BSD-3-Clause
//
// Halves against their definition, every one of them.

#include <lanewise/wavefront/half.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lanewise::wavefront {
namespace {

constexpr std::uint32_t halves = 1 << 16;

half with_bits(std::uint32_t bits) {
    return std::bit_cast<half>(static_cast<std::uint16_t>(bits));
}

/* What IEEE 754 says that the bits are. */
double value_of(std::uint32_t bits) {
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double fraction = bits & 1023;
    if (exponent == 31 && fraction > 0) return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/* The half that is nearest, the even one of two, as a double. */
double nearest_half(double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - 11, -24));
    const double rounded = std::nearbyint(value / step) * step;
    return std::abs(rounded) < 65536.0
               ? rounded
               : std::copysign(std::numeric_limits<double>::infinity(), value);
}

TEST(HalfTest, EveryHalfIsTheFloatOfItsValueAndComesBack) {
    for (std::uint32_t bits = 0; bits < halves; ++bits) {
        const float value = with_bits(bits);
        const double expected = value_of(bits);
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(value)) << bits;
            EXPECT_TRUE(std::isnan(static_cast<float>(half(value)))) << bits;
            continue;
        }
        EXPECT_EQ(static_cast<double>(value), expected) << bits;
        EXPECT_EQ(std::signbit(value), bits >= 0x8000) << bits;
        EXPECT_EQ(half(value).bits(), bits);
    }
}

TEST(HalfTest, AFloatBecomesTheNearestHalf) {
    std::mt19937_64 random(5);
    for (int trial = 0; trial < 200000; ++trial) {
        // Half of them halfway between two halves, or next to it.
        float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (trial % 2 == 0) {
            const auto bits = static_cast<std::uint32_t>(random() % 0x7c00);
            value = static_cast<float>((value_of(bits) + value_of(bits + 1)) / 2);
            if (bits == 0x7bff) value = 65520.0f;
            if (trial % 3 == 1) value = std::nextafterf(value, 0.0f);
            if (trial % 3 == 2) value = std::nextafterf(value, 70000.0f);
            if (random() % 2) value = -value;
        }
        const float found = half(value);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(found));
            continue;
        }
        EXPECT_EQ(static_cast<double>(found), nearest_half(static_cast<double>(value))) << value;
        EXPECT_EQ(std::signbit(found), std::signbit(value)) << value;
    }
}

}  // namespace
}  // namespace lanewise::wavefront
