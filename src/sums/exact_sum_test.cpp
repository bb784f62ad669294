// SPDX-License-Identifier: BSD-3-Clause

#include "sums/exact_sum.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lanewise::sums {
namespace {

using Integer = boost::multiprecision::cpp_int;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double least = std::numeric_limits<double>::denorm_min();

// A number in units of 2^-1074.
Integer in_units(double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const Integer mantissa(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
    const int shift = exponent - 53 + 1074;
    return shift >= 0 ? Integer(mantissa * (Integer(1) << shift))
                      : Integer(mantissa / (Integer(1) << -shift));
}

// Whether neither neighbour is nearer, and of two that are as near the even one was taken.
template <typename Real>
bool is_nearest(Real candidate, const Integer& exact) {
    const auto distance = [&](Real value) {
        return Integer(abs(in_units(static_cast<double>(value)) - exact));
    };
    const Real down = std::nextafter(candidate, -std::numeric_limits<Real>::infinity());
    const Real up = std::nextafter(candidate, std::numeric_limits<Real>::infinity());
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    const bool is_even = (std::bit_cast<Bits>(candidate) & 1U) == 0;
    const auto own = distance(candidate);
    for (const Real neighbour : {down, up}) {
        if (std::isinf(neighbour)) continue;
        const auto other = distance(neighbour);
        if (other < own || (other == own && !is_even)) return false;
    }
    return true;
}

// Wild exponents, equal ones, cancellation and subnormal numbers. Sums of 64 are still finite,
// since infinity is no number of units.
std::vector<double> wild(std::mt19937_64& random, std::size_t count, int spread) {
    constexpr int largest_exponent = std::numeric_limits<double>::max_exponent - 6;
    std::uniform_int_distribution<int> exponent(-spread, std::min(spread, largest_exponent));
    std::uniform_real_distribution<double> fraction(-1, 1);
    std::vector<double> values(count);
    for (double& value : values) value = std::ldexp(fraction(random), exponent(random));
    for (std::size_t i = 2; i < count; i += 7) values[i] = -values[i - 1];
    return values;
}

template <typename Real>
Real sum_of(const std::vector<Real>& values) {
    ExactSum sum;
    sum.add(std::span<const Real>(values));
    if constexpr (sizeof(Real) == 8) {
        return sum.as_double();
    } else {
        return sum.as_float();
    }
}

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

TEST(ExactSumTest, IsTheNearestNumberToTheExactSum) {
    std::mt19937_64 random(1);
    for (std::size_t trial = 0; trial < 400; ++trial) {
        const int spread = std::vector{0, 1, 20, 60, 300, 960, 1074}[trial % 7];
        const auto values = wild(random, 1 + trial % 50, spread);
        Integer exact = 0;
        for (const double value : values) exact += in_units(value);

        EXPECT_TRUE(is_nearest(sum_of(values), exact)) << "trial " << trial;
    }
}

TEST(ExactSumTest, IsTheNearestFloatToTheExactSumOfFloats) {
    std::mt19937_64 random(2);
    for (std::size_t trial = 0; trial < 400; ++trial) {
        const int spread = std::vector{0, 3, 30, 100, 120}[trial % 5];
        const auto doubles = wild(random, 1 + trial % 40, spread);
        const std::vector<float> values(doubles.begin(), doubles.end());
        Integer exact = 0;
        for (const float value : values) exact += in_units(static_cast<double>(value));

        EXPECT_TRUE(is_nearest(sum_of(values), exact)) << "trial " << trial;
    }
}

TEST(ExactSumTest, DoesNotDependOnOrderOrOnHowItIsSplit) {
    std::mt19937_64 random(3);
    for (int trial = 0; trial < 100; ++trial) {
        auto values = wild(random, 97, 500);
        const double expected = sum_of(values);
        std::shuffle(values.begin(), values.end(), random);
        const auto cut = values.begin() + static_cast<long>(random() % values.size());
        ExactSum one;
        ExactSum other;
        one.add(std::span<const double>(values.begin(), cut));
        other.add(std::span<const double>(cut, values.end()));
        other.add(one);

        EXPECT_TRUE(same_bits(other.as_double(), expected));
    }
}

TEST(ExactSumTest, RoundsTiesToEvenAndSeesWhatIsFarBehindThem) {
    EXPECT_EQ(sum_of<double>({1.0, 0x1p-53}), 1.0);
    EXPECT_EQ(sum_of<double>({1.0 + 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);
    EXPECT_EQ(sum_of<double>({1.0, 0x1p-53, least}), 1.0 + 0x1p-52);
    EXPECT_EQ(sum_of<double>({-1.0, -0x1p-53, -least}), -1.0 - 0x1p-52);
    EXPECT_EQ(sum_of<double>({1.0, 0x1p-53, -least}), 1.0);
}

TEST(ExactSumTest, CancelsWithoutLoss) {
    EXPECT_EQ(sum_of<double>({largest, 1.0, -largest}), 1.0);
    EXPECT_EQ(sum_of<double>({largest, largest, -largest, -largest, least}), least);
    EXPECT_EQ(sum_of<double>({1e300, 1.0, 1e-300, -1e300, -1.0}), 1e-300);
}

TEST(ExactSumTest, IsInfiniteOnlyWhereTheSumIsBeyondTheFormat) {
    EXPECT_EQ(sum_of<double>({largest, largest}), infinity);
    EXPECT_EQ(sum_of<double>({-largest, -largest}), -infinity);
    EXPECT_EQ(sum_of<double>({largest, 0x1p969}), largest);
    EXPECT_EQ(sum_of<double>({largest, 0x1p970}), infinity);
    EXPECT_EQ(sum_of<float>({0x1.fffffep127F, 0x1p103F}), std::numeric_limits<float>::infinity());
}

TEST(ExactSumTest, IsInfiniteWhereItIsDoubledWithoutEnd) {
    for (const double one : {1.0, -1.0, 0.1, -0.1, -1e-300}) {
        ExactSum sum;
        sum.add(one);
        for (int i = 0; i < 3000; ++i) {
            sum.add(sum);
            ASSERT_TRUE(ExactSum::are_words(sum.words())) << i;
        }
        EXPECT_EQ(sum.as_double(), one * infinity);
    }
}

TEST(ExactSumTest, KeepsWhatIsNoNumber) {
    const double nan = std::bit_cast<double>(0xfff8000000001234U);

    EXPECT_TRUE(same_bits(sum_of<double>({1.0, nan}), std::nan("")));
    EXPECT_TRUE(same_bits(sum_of<double>({infinity, -infinity}), std::nan("")));
    EXPECT_EQ(sum_of<double>({infinity, -largest, infinity}), infinity);
    EXPECT_EQ(sum_of<double>({-infinity, largest}), -infinity);
}

TEST(ExactSumTest, GivesZeroASign) {
    EXPECT_TRUE(same_bits(sum_of<double>({-0.0, -0.0}), -0.0));
    EXPECT_TRUE(same_bits(sum_of<double>({-0.0, 0.0}), 0.0));
    EXPECT_TRUE(same_bits(sum_of<double>({-1.0, 1.0, -0.0}), 0.0));
    EXPECT_TRUE(same_bits(sum_of<double>({}), 0.0));
    EXPECT_TRUE(same_bits(static_cast<double>(sum_of<float>({-0.0F})), -0.0));
}

#if defined(__x86_64__)
// As a program has it that was compiled with -ffast-math.
TEST(ExactSumTest, CountsSubnormalFloatsWhereTheProgramFlushesThem) {
    constexpr float least_float = 0x1p-149F;
    const std::vector<float> values{least_float, least_float, least_float};
    const auto before = _mm_getcsr();

    _mm_setcsr(before | 0x8040);
    const float sum = sum_of(values);
    _mm_setcsr(before);

    EXPECT_EQ(sum, 3 * least_float);
}
#endif

TEST(ExactSumTest, KnowsTheWordsOfNoSum) {
    const auto words = ExactSum().words();
    const auto with = [&words](std::size_t at, std::int64_t word) {
        auto changed = words;
        changed[at] = word;
        return changed;
    };
    constexpr std::size_t last_digit = ExactSum::digit_count - 1;
    constexpr auto most = std::numeric_limits<std::int64_t>::max();

    EXPECT_TRUE(ExactSum::are_words(words));
    EXPECT_TRUE(ExactSum::are_words(with(last_digit, -(1 << 30))));
    EXPECT_FALSE(ExactSum::are_words(with(last_digit, most)));
    EXPECT_FALSE(ExactSum::are_words(with(last_digit, -most - 1)));
    EXPECT_FALSE(ExactSum::are_words(with(0, most)));
    EXPECT_FALSE(ExactSum::are_words(with(ExactSum::digit_count, -1)));
}

TEST(ExactSumTest, AddsMoreNumbersThanADigitHasRoomFor) {
    ExactSum sum;
    for (int i = 0; i < 1000; ++i) sum.add(largest);
    ExactSum::Words words = sum.words();
    for (auto& word : words) word *= 1 << 20;
    ExactSum many = ExactSum::from(words);
    for (std::size_t i = 0; i < 1000; ++i) {
        ExactSum::Words minus{};
        ExactSum one;
        one.add(-largest);
        minus = one.words();
        for (auto& word : minus) word *= 1 << 20;
        many.add(ExactSum::from(minus));
    }

    EXPECT_EQ(many.as_double(), 0.0);
}

}  // namespace
}  // namespace lanewise::sums
