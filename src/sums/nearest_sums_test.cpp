// SPDX-License-Identifier: BSD-3-Clause

#include "sums/nearest_sums.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sums/exact_sum.hpp"
#include "sums/nearest_loops.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lanewise::sums {
namespace {

template <typename Real>
using Vectors = std::vector<std::vector<Real>>;

template <typename Real>
constexpr Real infinity = std::numeric_limits<Real>::infinity();
template <typename Real>
constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();

template <typename Real>
auto bits(Real value) {
    if constexpr (sizeof(Real) == 8) {
        return std::bit_cast<std::uint64_t>(value);
    } else {
        return std::bit_cast<std::uint32_t>(value);
    }
}

template <typename Real>
std::vector<Real> added(const Vectors<Real>& vectors) {
    std::vector<const Real *> pointers;
    for (const auto& vector : vectors) pointers.push_back(vector.data());
    std::vector<Real> sums(vectors.front().size());
    add_to_nearest(std::span<const Real *const>(pointers), sums.size(), sums.data());
    return sums;
}

// ExactSum is compared with exact arithmetic by its own test.
template <typename Real>
Real exact(const Vectors<Real>& vectors, std::size_t i) {
    ExactSum sum;
    for (const auto& vector : vectors) sum.add(std::span<const Real>(&vector[i], 1));
    if constexpr (sizeof(Real) == 8) {
        return sum.as_double();
    } else {
        return sum.as_float();
    }
}

template <typename Real>
Vectors<Real> wild(std::mt19937_64& random, std::size_t number, std::size_t count, int spread) {
    std::uniform_int_distribution<int> exponent(-spread, spread);
    std::uniform_real_distribution<double> fraction(-1, 1);
    Vectors<Real> vectors(number, std::vector<Real>(count));
    for (auto& vector : vectors) {
        for (Real& value : vector) {
            value = static_cast<Real>(std::ldexp(fraction(random), exponent(random)));
        }
    }
    // What cancels, and leaves a sum far below its addends.
    for (std::size_t i = 0; number > 2 && i < count; i += 3) {
        vectors[number - 1][i] = -vectors[number - 2][i];
    }
    return vectors;
}

template <typename Real>
void expect_nearest(const Vectors<Real>& vectors, int spread) {
    const auto sums = added(vectors);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const Real expected = exact(vectors, i);
        if (std::isnan(expected) && std::isnan(sums[i])) continue;
        ASSERT_EQ(bits(sums[i]), bits(expected))
            << "element " << i << " of " << sums.size() << ", " << vectors.size()
            << " vectors, exponents up to " << spread << ": " << sums[i] << " and " << expected;
    }
}

TEST(NearestSumsTest, AreTheNearestDoublesForAnyNumberOfVectorsAndElements) {
    std::mt19937_64 random(25);
    for (const std::size_t number : {1U, 2U, 3U, 4U, 5U, 7U, 16U, 64U}) {
        for (const std::size_t count : {1U, 256U, 257U}) {
            for (const int spread : {0, 1, 27, 53, 60, 110, 400, 1000, 1074}) {
                ASSERT_NO_FATAL_FAILURE(
                    expect_nearest(wild<double>(random, number, count, spread), spread));
            }
        }
    }
}

TEST(NearestSumsTest, AreTheNearestFloats) {
    std::mt19937_64 random(26);
    for (const std::size_t number : {1U, 2U, 3U, 4U, 7U, 16U, 64U}) {
        for (const int spread : {0, 1, 12, 24, 50, 100, 127, 148}) {
            ASSERT_NO_FATAL_FAILURE(
                expect_nearest(wild<float>(random, number, 300, spread), spread));
        }
    }
}

// Between two numbers, and off the middle by less than two additions keep.
template <typename Real>
Vectors<Real> near_ties(std::mt19937_64& random) {
    constexpr Real ulp = std::numeric_limits<Real>::epsilon();
    Vectors<Real> vectors(6);
    for (int trial = 0; trial < 3000; ++trial) {
        const Real one = Real{1} + static_cast<Real>(random() % 4) * ulp;
        const Real half = ulp / 2;
        const Real speck = std::ldexp(Real{1}, -static_cast<int>(30 + random() % 90));
        const auto some = [&](Real value) {
            const auto sign = static_cast<int>(random() % 3) - 1;
            return value * static_cast<Real>(sign);
        };
        const Real large = std::ldexp(Real{1}, static_cast<int>(random() % 60));
        for (std::size_t v = 0;
             const Real value : {one, some(half), some(speck), some(speck * ulp), large, -large}) {
            vectors[v++].push_back(value);
        }
    }
    return vectors;
}

TEST(NearestSumsTest, RoundTiesToEvenAndWhatIsNearATieToItsSide) {
    std::mt19937_64 random(27);
    expect_nearest(near_ties<double>(random), 0);
    expect_nearest(near_ties<float>(random), 0);
}

template <typename Real>
void expect_sum(std::vector<Real> addends, Real expected) {
    Vectors<Real> vectors;
    for (const Real value : addends) vectors.push_back({value});
    EXPECT_EQ(bits(added(vectors)[0]), bits(expected)) << addends.size() << " addends";
}

template <typename Real>
void expect_special_sums() {
    const Real largest = std::numeric_limits<Real>::max();
    const Real least = std::numeric_limits<Real>::denorm_min();
    const Real negative_nan = std::copysign(nan<Real>, Real{-1});
    for (const std::size_t more : {0U, 1U, 5U}) {
        const auto with = [&](std::vector<Real> addends) {
            addends.insert(addends.end(), more, Real{-0.0});
            return addends;
        };
        expect_sum(with({Real{-0.0}, Real{-0.0}}), Real{-0.0});
        expect_sum(with({Real{0}, Real{-0.0}}), Real{0});
        expect_sum(with({Real{1}, Real{-1}}), Real{0});
        expect_sum(with({negative_nan, Real{1}}), nan<Real>);
        expect_sum(with({infinity<Real>, -infinity<Real>}), nan<Real>);
        expect_sum(with({infinity<Real>, Real{1}}), infinity<Real>);
        expect_sum(with({-infinity<Real>, largest}), -infinity<Real>);
        expect_sum(with({largest, largest}), infinity<Real>);
        expect_sum(with({least, least}), 2 * least);
        expect_sum(with({least, -2 * least}), -least);
    }
    expect_sum({largest, largest, -largest}, largest);
    expect_sum({-largest, -largest, largest, largest, least}, least);
    expect_sum({negative_nan}, nan<Real>);
}

TEST(NearestSumsTest, DefineWhatIsNoNumberAndWhatIsZero) {
    expect_special_sums<double>();
    expect_special_sums<float>();
}

#if defined(__x86_64__)
// As a program has it that was compiled with -ffast-math.
TEST(NearestSumsTest, CountSubnormalNumbersWhereTheProgramFlushesThem) {
    const auto before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    expect_sum<double>({0x1p-1074, 0x1p-1074}, 0x1p-1073);
    expect_sum<double>({0x1p-1074, 0x1p-1074, 0x1p-1074}, 0x1.8p-1073);
    const auto after = _mm_getcsr();
    _mm_setcsr(before);

    EXPECT_EQ(after & 0x8040U, 0x8040U);
}
#endif

#if defined(__x86_64__)
template <typename Real>
Vectors<Real> wild_vectors(std::size_t number, std::size_t count, std::mt19937_64& random) {
    std::uniform_real_distribution<double> fraction(-1, 1);
    std::uniform_int_distribution<int> exponent(-60, 60);
    Vectors<Real> vectors(number, std::vector<Real>(count));
    for (auto& vector : vectors) {
        for (auto& value : vector) {
            value = static_cast<Real>(std::ldexp(fraction(random), exponent(random)));
        }
    }
    vectors.back()[count / 2] = nan<Real>;
    return vectors;
}

template <typename Real>
void expect_alike(AddRow<Real> portable, AddRow<Real> wide) {
    std::mt19937_64 random(7);
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{9}, row_count}) {
        const auto vectors = wild_vectors<Real>(5, count, random);
        std::vector<const Real *> pointers;
        for (const auto& vector : vectors) pointers.push_back(vector.data());
        NearestRow<Real> one;
        NearestRow<Real> other;
        EXPECT_TRUE(portable(pointers.data(), pointers.size(), 0, count, one));
        EXPECT_TRUE(wide(pointers.data(), pointers.size(), 0, count, other));
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(one.open[i], other.open[i]) << i;
            if (one.open[i] == 0) {
                ASSERT_EQ(bits(one.sums[i]), bits(other.sums[i])) << i;
            }
        }
        EXPECT_NE(one.open[count / 2], 0);
    }
}

TEST(NearestSumsTest, AreTheSameByPortableLoopsAndByThoseForAvx2) {
    if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no AVX2";

    expect_alike<double>(add_row<double>, nearest_loops_avx2.doubles);
    expect_alike<float>(add_row<float>, nearest_loops_avx2.floats);
}
#endif

TEST(NearestSumsTest, RoundToNearestWhereTheProgramRoundsUp) {
    std::fesetround(FE_UPWARD);
    const auto two = added<double>({{1.0}, {0x1p-80}});
    const auto three = added<double>({{1.0}, {0x1p-80}, {0x1p-80}});
    const int rounding = std::fegetround();
    std::fesetround(FE_TONEAREST);

    EXPECT_EQ(two[0], 1.0);
    EXPECT_EQ(three[0], 1.0);
    EXPECT_EQ(rounding, FE_UPWARD);
}

}  // namespace
}  // namespace lanewise::sums
