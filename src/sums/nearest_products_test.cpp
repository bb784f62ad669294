// SPDX-License-Identifier: BSD-3-Clause

#include "sums/nearest_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cfenv>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "sums/long_product.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include "sums/number_bits.hpp"

namespace lanewise::sums {
namespace {

using boost::multiprecision::cpp_int;

template <typename Real>
auto bits(Real value) {
    return std::bit_cast<typename NumberBits<Real>::Bits>(value);
}

template <typename Real>
auto bits(std::complex<Real> value) {
    return std::pair(bits(value.real()), bits(value.imag()));
}

template <typename Number>
Number product(const std::vector<Number>& factors) {
    return nearest_product(std::span<const Number>(factors));
}

// An integer and an exponent of two.
struct Scaled {
    cpp_int whole = 1;
    long exponent = 0;
};

template <typename Real>
Scaled scaled(Real number) {
    int own = 0;
    const double fraction = std::frexp(static_cast<double>(number), &own);
    return {static_cast<std::int64_t>(std::ldexp(fraction, 53)), own - 53L};
}

template <typename Real>
Real rounded(cpp_int whole, long exponent) {
    if (whole == 0) return 0;
    const bool negative = whole < 0;
    if (negative) whole = -whole;
    const auto length = static_cast<long>(msb(whole)) + 1;
    const long last = std::max<long>(exponent + length - std::numeric_limits<Real>::digits,
                                     NumberBits<Real>::least_exponent);
    const long dropped = last - exponent;
    if (dropped > 0) {
        const auto place = static_cast<unsigned>(dropped);
        const cpp_int half = cpp_int(1) << (place - 1);
        const cpp_int rest = whole & ((cpp_int(1) << place) - 1);
        whole >>= place;
        if (rest > half || (rest == half && bit_test(whole, 0))) ++whole;
    } else {
        whole <<= static_cast<unsigned>(-dropped);
    }
    const auto made = std::ldexp(static_cast<Real>(static_cast<std::uint64_t>(whole)),
                                 static_cast<int>(std::clamp<long>(last, -5000, 5000)));
    return negative ? -made : made;
}

template <typename Real>
Real rounded(const std::vector<Real>& factors) {
    Scaled all;
    for (const Real factor : factors) {
        const auto [whole, exponent] = scaled(factor);
        all.whole *= whole;
        all.exponent += exponent;
    }
    return rounded<Real>(all.whole, all.exponent);
}

template <typename Real>
std::complex<Real> rounded(const std::vector<std::complex<Real>>& factors) {
    cpp_int a = 1;
    cpp_int b = 0;
    long exponent = 0;
    for (const auto& factor : factors) {
        auto c = scaled(factor.real());
        auto d = scaled(factor.imag());
        const long least = c.whole == 0   ? d.exponent
                           : d.whole == 0 ? c.exponent
                                          : std::min(c.exponent, d.exponent);
        if (c.whole != 0) c.whole <<= static_cast<unsigned>(c.exponent - least);
        if (d.whole != 0) d.whole <<= static_cast<unsigned>(d.exponent - least);
        const cpp_int real = a * c.whole - b * d.whole;
        b = a * d.whole + b * c.whole;
        a = real;
        exponent += least;
    }
    return {rounded<Real>(a, exponent), rounded<Real>(b, exponent)};
}

// Of factors whose products are near one another, however many there are, or beyond the format.
template <typename Real>
std::vector<Real> wild(std::mt19937_64& random, std::size_t count, int spread) {
    std::uniform_int_distribution<int> exponent(-spread, spread);
    std::uniform_real_distribution<double> fraction(0.5, 2);
    std::vector<Real> factors(count);
    int sum = 0;
    for (Real& factor : factors) {
        const int own = exponent(random);
        // Partial products reach far beyond the format, the whole one less far.
        const int place = std::abs(sum + own) > 2 * spread ? -own : own;
        sum += place;
        factor = static_cast<Real>(
            std::ldexp(random() % 2 == 0 ? fraction(random) : -fraction(random), place));
        if (factor == 0 || std::isinf(factor)) factor = 1;
    }
    return factors;
}

template <typename Real>
class NearestProductsTest : public testing::Test {};
using Formats = testing::Types<double, float>;
TYPED_TEST_SUITE(NearestProductsTest, Formats);

TYPED_TEST(NearestProductsTest, AProductIsTheNumberNearestToTheExactOne) {
    std::mt19937_64 random(25);
    const int most = std::numeric_limits<TypeParam>::max_exponent;
    for (const std::size_t count : {1U, 2U, 3U, 5U, 16U, 64U, 300U}) {
        for (const int spread : {1, 20, most / 2, most + 40}) {
            for (int trial = 0; trial < 20; ++trial) {
                const auto factors = wild<TypeParam>(random, count, spread);

                ASSERT_EQ(bits(product(factors)), bits(rounded(factors)))
                    << count << " factors, spread " << spread << ", trial " << trial;
            }
        }
    }
}

// Small odd numbers make products that fit, or are half-way between two numbers.
TYPED_TEST(NearestProductsTest, WhatIsExactStaysSoAndTiesGoToEven) {
    std::mt19937_64 random(26);
    constexpr int precision = std::numeric_limits<TypeParam>::digits;
    int ties = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        std::vector<TypeParam> factors{1};
        cpp_int odd = 1;
        while (msb(odd) + 1 < precision) {
            const auto factor = static_cast<int>(random() % 32) * 2 + 1;
            odd *= factor;
            factors.push_back(
                std::ldexp(static_cast<TypeParam>(factor), static_cast<int>(random() % 16) - 8));
        }
        ties += msb(odd) == precision ? 1 : 0;

        ASSERT_EQ(bits(product(factors)), bits(rounded(factors))) << odd;
    }
    EXPECT_GT(ties, 100);
    EXPECT_EQ(product(std::vector<TypeParam>{3, 5}), 15);
}

TEST(NearestProductsTest, OnlyTheResultMayBeTooLargeOrTooSmall) {
    EXPECT_EQ(product<double>({0x1p1000, 0x1.8p1000, 0x1p-1000}), 0x1.8p1000);
    EXPECT_EQ(product<double>({0x1p-1000, 0x1p-1000, 0x1p1000}), 0x1p-1000);
    EXPECT_EQ(product<double>({1e300, -1e300}), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(product<double>({0x1p1023, 2 - 0x1p-52}), std::numeric_limits<double>::max());
    EXPECT_EQ(product<double>({0x1p-1074, 0.5}), 0) << "a tie between 0 and the least number";
    EXPECT_EQ(product<double>({0x1p-1074, 0.5, 1 + 0x1p-52}), 0x1p-1074);
    EXPECT_EQ(product<double>({0x1p-1074, 1.5}), 0x1p-1073);
    EXPECT_EQ(product<double>({0x1p-1074, 0x1p1000, 3}), 0x1.8p-73);
    EXPECT_EQ(bits(product<double>({-0x1p-1074, 0x1p-1074})), bits(-0.0));
    EXPECT_EQ(bits(product<float>({-0x1p-149F, 0x1p-149F})), bits(-0.0F));
    EXPECT_EQ(product<float>({0x1p127F, 2 - 0x1p-23F}), std::numeric_limits<float>::max());
    EXPECT_EQ(product<float>({0x1p127F, 2 - 0x1p-23F, 1 + 0x1p-23F}),
              std::numeric_limits<float>::infinity());
    EXPECT_EQ(product<double>({}), 1);
}

TEST(NearestProductsTest, WhatIsSquaredWithoutEndIsOneOrZeroOrInfinite) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::pair<double, double> bases[] = {
        {1.0, 1.0}, {1.5, infinity}, {0.75, 0.0}, {0x1p1000, infinity}, {0x1p-1000, 0.0}};
    for (const auto& [base, limit] : bases) {
        LongProduct power(4);
        power.multiply(base);
        for (int i = 0; i < 200; ++i) power.multiply(power);
        power.multiply(base);
        double nearest = -1;
        ASSERT_TRUE(power.round(nearest)) << base;
        EXPECT_EQ(nearest, limit) << base;
        std::vector<std::int64_t> words(power.word_count());
        power.write(words);
        EXPECT_TRUE(LongProduct::are_words(words)) << base;
    }
}

TEST(NearestProductsTest, WhatIsNoNumberAndTheSignOfZeroAreDefined) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const double payload = std::bit_cast<double>(std::uint64_t{0xfff8000000000123});

    EXPECT_EQ(bits(product<double>({2, payload, infinity})), bits(nan));
    EXPECT_EQ(bits(product<double>({payload})), bits(nan));
    EXPECT_EQ(bits(product<double>({-infinity, 0, 3})), bits(nan));
    EXPECT_EQ(product<double>({-infinity, 1e-300, 1e-300}), -infinity);
    EXPECT_EQ(product<double>({-infinity, -2}), infinity);
    EXPECT_EQ(bits(product<double>({-0.0, 1e300, 1e300})), bits(-0.0));
    EXPECT_EQ(bits(product<double>({-0.0, -1e300, 1e300})), bits(0.0));
}

// 2^53 + 1 is half-way between two numbers. Times 2^134 - 1 it is 2^-134 of itself below that, and
// times 2^134 + 1 above it; 128 bits do not tell. All are products of primes of less than 53 bits.
TEST(NearestProductsTest, ProductsThatAreNearlyHalfWayAreRoundedRightly) {
    const std::vector<double> half{3, 107, 28059810762433};
    std::vector<double> below{3, 7327657, 193707721, 761838257287, 6713103182899};
    std::vector<double> above{5, 269, 15152453, 42875177, 2559066073, 9739278030221};
    below.insert(below.end(), half.begin(), half.end());
    above.insert(above.end(), half.begin(), half.end());

    EXPECT_EQ(product(half), 0x1p53);
    EXPECT_EQ(bits(product(below)), bits(rounded(below)));
    EXPECT_EQ(product(below), 0x1p187);
    EXPECT_EQ(bits(product(above)), bits(rounded(above)));
    EXPECT_EQ(product(above), 0x1p187 + 0x1p135);
    // What is cut off on the way may take the bits that are kept below half-way.
    std::mt19937_64 random(28);
    for (int trial = 0; trial < 100; ++trial) {
        std::shuffle(below.begin(), below.end(), random);
        std::shuffle(above.begin(), above.end(), random);
        ASSERT_EQ(product(below), 0x1p187);
        ASSERT_EQ(product(above), 0x1p187 + 0x1p135);
    }
    LongProduct undecided(2);
    for (const double factor : below) undecided.multiply(factor);
    double nearest = 0;
    EXPECT_FALSE(undecided.round(nearest));
}

// The same in both parts: (1 + i) is the last factor, and 128 bits do not tell here either.
TEST(NearestProductsTest, ComplexProductsThatAreNearlyHalfWayAreRoundedRightly) {
    using Complex = std::complex<double>;
    std::vector<Complex> factors;
    for (const double prime :
         {5., 269., 15152453., 42875177., 2559066073., 9739278030221., 3., 107., 28059810762433.}) {
        factors.emplace_back(prime);
    }
    factors.emplace_back(1, 1);
    std::mt19937_64 random(31);
    for (int trial = 0; trial < 100; ++trial) {
        std::shuffle(factors.begin(), factors.end(), random);

        ASSERT_EQ(product(factors), Complex(0x1p187 + 0x1p135, 0x1p187 + 0x1p135));
    }
}

TEST(NearestProductsTest, OrderAndPartsDoNotMatter) {
    std::mt19937_64 random(27);
    constexpr std::size_t words = 16;
    for (const std::size_t count : {2U, 7U, 64U, 1000U}) {
        auto factors = wild<double>(random, count, 900);
        const double whole = product(factors);
        for (int split = 0; split < 10; ++split) {
            std::shuffle(factors.begin(), factors.end(), random);
            std::vector<LongProduct> parts(1 + random() % 64, LongProduct(words));
            for (const double factor : factors) parts[random() % parts.size()].multiply(factor);
            LongProduct all(words);
            for (const LongProduct& part : parts) {
                std::vector<std::int64_t> travelled(words + LongProduct::words_besides);
                part.write(travelled);
                all.multiply(LongProduct::read(travelled));
            }
            double nearest = 0;

            ASSERT_TRUE(all.round(nearest));
            EXPECT_EQ(bits(nearest), bits(whole));
            EXPECT_EQ(bits(product(factors)), bits(whole));
        }
    }
}

TYPED_TEST(NearestProductsTest, BothPartsOfAComplexProductAreNearestToTheExactOnes) {
    std::mt19937_64 random(29);
    const int most = std::numeric_limits<TypeParam>::max_exponent;
    for (const std::size_t count : {1U, 2U, 3U, 5U, 16U, 40U}) {
        for (const int spread : {1, 20, most / 2, most + 40}) {
            for (int trial = 0; trial < 10; ++trial) {
                const auto real = wild<TypeParam>(random, count, spread);
                const auto imaginary = wild<TypeParam>(random, count, spread);
                std::vector<std::complex<TypeParam>> factors(count);
                for (std::size_t k = 0; k < count; ++k) factors[k] = {real[k], imaginary[k]};
                // On an axis, where a part is zero however much is cut off.
                if (trial % 3 == 1) factors.front().imag(0);
                if (trial % 3 == 2) {
                    for (auto& factor : factors) factor.real(0);
                }

                const auto made = product(factors);
                ASSERT_EQ(bits(made), bits(rounded(factors)))
                    << count << " factors, spread " << spread << ", trial " << trial;
                std::shuffle(factors.begin(), factors.end(), random);
                ASSERT_EQ(bits(product(factors)), bits(made));
            }
        }
    }
}

// A number by its conjugate has an imaginary part of zero. Where another factor makes that a little
// more than zero, hundreds of bits cancel.
TYPED_TEST(NearestProductsTest, APartThatCancelsIsNearestToo) {
    using Complex = std::complex<TypeParam>;
    std::mt19937_64 random(30);
    constexpr TypeParam little = std::numeric_limits<TypeParam>::epsilon();
    for (const std::size_t pairs : {1U, 2U, 4U, 12U}) {
        for (int trial = 0; trial < 20; ++trial) {
            std::vector<Complex> factors;
            for (const TypeParam part : wild<TypeParam>(random, pairs, 1)) {
                const Complex one{part, wild<TypeParam>(random, 1, 1).front()};
                factors.insert(factors.end(), {one, std::conj(one)});
            }
            EXPECT_EQ(bits(product(factors).imag()), bits(TypeParam{0}));

            auto& last = factors.back();
            last.real(last.real() + last.real() * little);
            std::shuffle(factors.begin(), factors.end(), random);

            ASSERT_EQ(bits(product(factors)), bits(rounded(factors))) << pairs << " pairs";
            EXPECT_NE(product(factors).imag(), 0);
        }
    }
}

TEST(NearestProductsTest, WhatIsNoNumberMakesBothPartsOfAComplexProductNaN) {
    using Complex = std::complex<double>;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();

    for (const Complex odd : {Complex{infinity, 0}, Complex{0, -infinity}, Complex{-nan, 1}}) {
        EXPECT_EQ(bits(product<Complex>({odd})), bits(Complex{nan, nan}));
        EXPECT_EQ(bits(product<Complex>({{0, 0}, odd, {2, 0}})), bits(Complex{nan, nan}));
    }
    EXPECT_EQ(bits(product<Complex>({{-0.0, -0.0}})), bits(Complex{0, 0}));
    EXPECT_EQ(bits(product<Complex>({{0, 1}, {0, 1}})), bits(Complex{-1, 0}));
    EXPECT_EQ(bits(product<Complex>({{1e300, 1e-300}, {1e300, 1e-300}})),
              bits(Complex{infinity, 2}));
    EXPECT_EQ(bits(product<Complex>({{-1e-300, 1}, {1e-300, 0}})), bits(Complex{-0.0, 1e-300}));
    EXPECT_EQ(product<Complex>({}), Complex(1, 0));
}

// Too large, subnormal and beyond that, in each part.
TYPED_TEST(NearestProductsTest, NoModeOfRoundingMatters) {
    using Complex = std::complex<TypeParam>;
    using Limits = std::numeric_limits<TypeParam>;
    const std::vector<Complex> large{{Limits::max(), 1}, {2, 2}};
    const std::vector<Complex> small{{3 * Limits::denorm_min(), Limits::min()},
                                     {TypeParam{0.5}, TypeParam{0.25}}};
    const std::vector<Complex> tiny{{-Limits::min(), 1}, {Limits::min(), 0}};

    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        const Complex made[] = {product(large), product(small), product(tiny)};
        const TypeParam real[] = {product<TypeParam>({Limits::max(), -2}),
                                  product<TypeParam>({3 * Limits::denorm_min(), TypeParam{0.5}})};
        std::fesetround(FE_TONEAREST);

        EXPECT_EQ(bits(made[0]), bits(rounded(large))) << mode;
        EXPECT_EQ(bits(made[1]), bits(rounded(small))) << mode;
        EXPECT_EQ(bits(made[2]), bits(Complex(TypeParam{-0.0}, Limits::min())));
        EXPECT_EQ(bits(real[0]), bits(-Limits::infinity())) << mode;
        EXPECT_EQ(bits(real[1]), bits(2 * Limits::denorm_min())) << mode;
    }
}

#if defined(__x86_64__)
// As a program has it that was compiled with -ffast-math.
TYPED_TEST(NearestProductsTest, SubnormalPartsStayWhereTheProgramFlushesThem) {
    using Complex = std::complex<TypeParam>;
    constexpr TypeParam least = std::numeric_limits<TypeParam>::denorm_min();
    const auto before = _mm_getcsr();

    _mm_setcsr(before | 0x8040);
    const auto made = product<Complex>({{least, 3 * least}, {3, 0}});
    _mm_setcsr(before);

    EXPECT_EQ(bits(made), bits(Complex(3 * least, 9 * least)));
}
#endif

TEST(NearestProductsTest, ElementsAreMultipliedByThemselves) {
    const std::vector<float> a{2, 3, -1};
    std::vector<float> b{5, 7, 1e-45F};
    const std::vector<const float *> vectors{a.data(), b.data()};

    multiply_to_nearest(std::span<const float *const>(vectors), b.size(), b.data());

    EXPECT_EQ(b, (std::vector<float>{10, 21, -1e-45F}));
}

}  // namespace
}  // namespace lanewise::sums
