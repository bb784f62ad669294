// SPDX-License-Identifier: BSD-3-Clause

#include "sums/combine.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "sums/combine_loops.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lanewise::sums {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
    std::vector<std::uint64_t> found;
    for (const double value : values) found.push_back(std::bit_cast<std::uint64_t>(value));
    return found;
}

template <typename Real>
std::vector<Real> combined(Combining combining, int per_element, const std::vector<Real>& left,
                           std::vector<Real> right) {
    const auto combine = combine_by(combining, {sizeof(Real) == 8, per_element});
    auto *there = reinterpret_cast<std::byte *>(right.data());
    combine(reinterpret_cast<const std::byte *>(left.data()), there, there,
            static_cast<std::int64_t>(left.size()) / per_element);
    return right;
}

TEST(CombineTest, AddsAndMultipliesElementByElement) {
    EXPECT_EQ(combined<double>(Combining::sum, 1, {1, 2, 0.1}, {10, 20, 0.2}),
              (std::vector{11.0, 22.0, 0.1 + 0.2}));
    EXPECT_EQ(combined<float>(Combining::product, 1, {2, 3, 5}, {7, 11, 13}),
              (std::vector{14.0F, 33.0F, 65.0F}));
    EXPECT_EQ(combined<float>(Combining::sum, 2, {1, 2}, {3, 4}), (std::vector{4.0F, 6.0F}));
    EXPECT_EQ(combined<double>(Combining::product, 2, {1, 2, 0, 1}, {3, 4, 0, 1}),
              (std::vector{-5.0, 10.0, -1.0, 0.0}));
}

TEST(CombineTest, ANaNHasNeitherSignNorPayloadWhicheverOperandItCameFrom) {
    const double odd = std::bit_cast<double>(0xfff8000000001234U);
    const double other = std::bit_cast<double>(0x7ff8000000005678U);

    const std::vector left = {odd, 1.0, odd, infinity, 1.0};
    const auto sums = combined<double>(Combining::sum, 1, left, {2, other, other, -infinity, 1});
    const auto products = combined<double>(Combining::product, 1, left, {2, other, other, 0, 1});

    EXPECT_EQ(bits(sums), bits({nan, nan, nan, nan, 2}));
    EXPECT_EQ(bits(products), bits({nan, nan, nan, nan, 1}));
}

// Numbers with a NaN here and there, and none in most of a long vector.
template <typename Real>
std::vector<Real> numbers_with_nans(std::size_t count, std::mt19937& random) {
    std::vector<Real> numbers(count);
    for (Real& one : numbers) {
        one = random() % 40 == 0 ? -std::numeric_limits<Real>::quiet_NaN()
                                 : static_cast<Real>(random()) - 0x1p31F;
    }
    return numbers;
}

template <typename Real>
void expect_sums_one_by_one(void (*add)(const Real *, const Real *, Real *, std::int64_t)) {
    std::mt19937 random(11);
    for (std::size_t count = 0; count <= 200; ++count) {
        const auto left = numbers_with_nans<Real>(count, random);
        const auto right = numbers_with_nans<Real>(count, random);
        auto sums = right;
        add(left.data(), sums.data(), sums.data(), static_cast<std::int64_t>(count));
        for (std::size_t i = 0; i < count; ++i) {
            const Real sum = left[i] + right[i];
            const Real expected = std::isnan(sum) ? std::numeric_limits<Real>::quiet_NaN() : sum;
            ASSERT_EQ(std::memcmp(&sums[i], &expected, sizeof expected), 0) << i << " of " << count;
        }
    }
}

TEST(CombineTest, TheLoopsOfEachProcessorAddOneByOne) {
    expect_sums_one_by_one<double>(add_numbers<double>);
    expect_sums_one_by_one<float>(add_numbers<float>);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        expect_sums_one_by_one(add_loops_avx2.doubles);
        expect_sums_one_by_one(add_loops_avx2.floats);
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        expect_sums_one_by_one(add_loops_avx512.doubles);
        expect_sums_one_by_one(add_loops_avx512.floats);
    }
#endif
}

template <typename Real>
void expect_any_place(Combining combining, int per_element) {
    std::mt19937 random(12);
    const auto combine = combine_by(combining, {sizeof(Real) == 8, per_element});
    const auto bytes_of = [](std::vector<Real>& numbers) {
        return reinterpret_cast<std::byte *>(numbers.data());
    };
    for (std::size_t count = 1; count <= 150; ++count) {
        const auto elements = static_cast<std::int64_t>(count);
        auto left = numbers_with_nans<Real>(count * static_cast<std::size_t>(per_element), random);
        auto right = numbers_with_nans<Real>(left.size(), random);
        std::vector<Real> apart(left.size());
        combine(bytes_of(left), bytes_of(right), bytes_of(apart), elements);
        auto as_left = left;
        combine(bytes_of(as_left), bytes_of(right), bytes_of(as_left), elements);
        combine(bytes_of(left), bytes_of(right), bytes_of(right), elements);
        const auto bytes = left.size() * sizeof(Real);
        ASSERT_EQ(std::memcmp(as_left.data(), apart.data(), bytes), 0) << count;
        ASSERT_EQ(std::memcmp(right.data(), apart.data(), bytes), 0) << count;
    }
}

TEST(CombineTest, TheResultIsTheSameInThePlaceOfEitherOperandAndApart) {
    for (const auto combining :
         {Combining::sum, Combining::product, Combining::maximum, Combining::minimum}) {
        expect_any_place<double>(combining, 1);
        expect_any_place<float>(combining, 1);
    }
    for (const auto combining : {Combining::sum, Combining::product}) {
        expect_any_place<double>(combining, 2);
        expect_any_place<float>(combining, 2);
    }
}

TEST(CombineTest, KeepsTheSignsOfZerosAndOverflowsToInfinity) {
    const double largest = std::numeric_limits<double>::max();

    const auto sums =
        combined<double>(Combining::sum, 1, {-0.0, -0.0, 1, largest}, {-0.0, 0.0, -1, largest});
    const auto products =
        combined<double>(Combining::product, 1, {-0.0, -1, largest}, {1, 0.0, -largest});

    EXPECT_EQ(bits(sums), bits({-0.0, 0.0, 0.0, infinity}));
    EXPECT_EQ(bits(products), bits({-0.0, -0.0, -infinity}));
}

// A product and a sum in one rounding would leave the error of the product.
TEST(CombineTest, AMaximumOrMinimumDependsOnNoOrderOfNaNsAndZeros) {
    const std::vector<double> a{-nan, 1, 0.0, -0.0, 3, -0x1p-1074};
    const std::vector<double> b{2, nan, -0.0, 0.0, -4, 0};
    const auto bits_of = [](const std::vector<double>& values) {
        std::vector<std::uint64_t> bits;
        for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
        return bits;
    };
    const auto combined = [&](Combining by, const std::vector<double>& left,
                              std::vector<double> right) {
        auto *there = reinterpret_cast<std::byte *>(right.data());
        combine_by(by, {})(reinterpret_cast<const std::byte *>(left.data()), there, there,
                           static_cast<std::int64_t>(right.size()));
        return bits_of(right);
    };
    const std::vector<double> maxima{nan, nan, 0.0, 0.0, 3, 0};
    const std::vector<double> minima{nan, nan, -0.0, -0.0, -4, -0x1p-1074};

    EXPECT_EQ(combined(Combining::maximum, a, b), bits_of(maxima));
    EXPECT_EQ(combined(Combining::maximum, b, a), bits_of(maxima));
    EXPECT_EQ(combined(Combining::minimum, a, b), bits_of(minima));
    EXPECT_EQ(combined(Combining::minimum, b, a), bits_of(minima));
}

TEST(CombineTest, RoundsEachPartOfAComplexProductByItself) {
    const double a = 1 + 0x1p-52;

    const auto square = combined<double>(Combining::product, 2, {a, a}, {a, a});

    EXPECT_EQ(bits({square[0]}), bits({0.0}));
}

TEST(CombineTest, DoesNotMendAComplexProductOfInfinities) {
    const auto product = combined<double>(Combining::product, 2, {infinity, infinity}, {1, 0});

    EXPECT_EQ(bits(product), bits({nan, nan}));
}

#if defined(__x86_64__)
TEST(CombineTest, CountsSubnormalNumbersWhereTheProgramFlushesThem) {
    const auto before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    const auto sum = combined<double>(Combining::sum, 1, {0x1p-1074}, {0x1p-1074});
    const auto product = combined<double>(Combining::product, 1, {0x1p-1000}, {0x1p-60});
    _mm_setcsr(before);

    EXPECT_EQ(sum[0], 0x1p-1073);
    EXPECT_EQ(product[0], 0x1p-1060);
}
#endif

}  // namespace
}  // namespace lanewise::sums
