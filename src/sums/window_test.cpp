// SPDX-License-Identifier: BSD-3-Clause

#include "sums/window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sums/exact_sum.hpp"

namespace lanewise::sums {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <typename Real>
using Vectors = std::vector<std::vector<Real>>;

// What the ranks do, each with a vector: windows, words, their sums, rounding.
template <typename Real>
std::vector<Real> reduced(const Vectors<Real>& vectors) {
    const std::size_t count = vectors.front().size();
    std::vector<Window> windows(blocks_of(count));
    for (const auto& values : vectors) {
        std::vector<Window> own(windows.size());
        find_windows(std::span<const Real>(values), std::span(own));
        for (std::size_t b = 0; b < windows.size(); ++b) {
            windows[b] = {std::max(windows[b].above, own[b].above),
                          std::max(windows[b].depth, own[b].depth),
                          std::max(windows[b].specials, own[b].specials)};
        }
    }
    const Packing packing(static_cast<int>(vectors.size()));
    std::vector<std::int64_t> sum(packing.words(windows, count));
    for (const auto& values : vectors) {
        std::vector<std::int64_t> words(sum.size());
        packing.pack(std::span<const Real>(values), windows, words.data());
        std::transform(sum.begin(), sum.end(), words.begin(), sum.begin(), std::plus<>());
    }
    std::vector<Real> result(count);
    packing.unpack(sum.data(), windows, std::span(result));
    return result;
}

template <typename Real>
Real exact(const Vectors<Real>& vectors, std::size_t element) {
    ExactSum sum;
    for (const auto& values : vectors) sum.add(std::span<const Real>(&values[element], 1));
    if constexpr (sizeof(Real) == 8) {
        return sum.as_double();
    } else {
        return sum.as_float();
    }
}

template <typename Real>
void expect_exact(const Vectors<Real>& vectors) {
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    const auto found = reduced(vectors);
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(std::bit_cast<Bits>(found[i]), std::bit_cast<Bits>(exact(vectors, i)))
            << vectors.size() << " ranks, element " << i << ": " << found[i];
    }
}

template <typename Real>
Vectors<Real> wild(std::mt19937_64& random, std::size_t ranks, std::size_t count, int spread,
                   int around) {
    std::uniform_int_distribution<int> exponent(around - spread, around + spread);
    std::uniform_real_distribution<double> fraction(-1, 1);
    Vectors<Real> vectors(ranks, std::vector<Real>(count));
    for (auto& values : vectors) {
        for (Real& value : values) {
            value = static_cast<Real>(std::ldexp(fraction(random), exponent(random)));
            if (!std::isfinite(value)) value = 1;
        }
    }
    return vectors;
}

TEST(WindowTest, ReducesDoublesOfAllExponentsToTheExactSum) {
    std::mt19937_64 random(1);
    for (const std::size_t ranks : {1U, 2U, 3U, 4U, 7U, 16U, 64U}) {
        for (const int spread : {0, 1, 6, 12, 40, 200, 1070}) {
            expect_exact(wild<double>(random, ranks, 300, spread, 0));
        }
        for (const int around : {-1060, -1015, -960, 900, 1000, 1020}) {
            expect_exact(wild<double>(random, ranks, 40, 4, around));
        }
    }
}

TEST(WindowTest, ReducesFloatsOfAllExponentsToTheExactSum) {
    std::mt19937_64 random(2);
    for (const std::size_t ranks : {1U, 2U, 5U, 16U}) {
        for (const int spread : {0, 6, 30, 140}) {
            expect_exact(wild<float>(random, ranks, 300, spread, 0));
        }
        for (const int around : {-148, -130, -120, -60, 60, 110, 127}) {
            expect_exact(wild<float>(random, ranks, 40, 4, around));
        }
    }
}

TEST(WindowTest, CancelsToTheLastBit) {
    expect_exact<double>({{1e16, 1.0}, {1.0, 1e-30}, {-1e16, -1.0}});
    expect_exact<double>({{0x1.fffffffffffffp1023, 1.0}, {-0x1.fffffffffffffp1023, 0x1p-1074}});
}

TEST(WindowTest, KeepsWhatIsNoNumberAndTheSignOfZero) {
    expect_exact<double>({{nan_value, infinity, -infinity, infinity, -0.0, -0.0, 1.0, 0.0},
                          {1.0, infinity, 1e300, -infinity, -0.0, 0.0, -0.0, -0.0},
                          {2.0, -1e300, 0.0, 0.0, -0.0, -0.0, -1.0, 0.0}});
    expect_exact<float>({{-0.0F, std::numeric_limits<float>::infinity()}, {-0.0F, 1.0F}});
}

TEST(WindowTest, SendsOneWordForNumbersOfEqualStepsAndTwoForOrdinaryOnes) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    std::vector<double> steps(256);
    std::vector<double> ordinary(256);
    for (double& value : steps) value = static_cast<double>(random() >> 11) * 0x1p-53;
    for (double& value : ordinary) value = normal(random);
    const Packing packing(4);
    const auto words = [&](const std::vector<double>& values) {
        std::vector<Window> windows(1);
        find_windows(std::span<const double>(values), std::span(windows));
        return packing.words(windows, values.size());
    };

    EXPECT_EQ(words(steps), 256U);
    EXPECT_EQ(words(ordinary), 512U);
    EXPECT_EQ(words(std::vector<double>(256)), 0U);
}

TEST(WindowTest, AsManyBlocksGoTogetherAsThereIsRoomFor) {
    const Packing packing(4);
    const Window one{.above = 10, .depth = 10};
    const Window widest{.above = 1024, .depth = 1074, .specials = 1};
    const std::vector<Window> windows{one, one, widest, one};
    constexpr std::size_t count = 3 * block_count + 7;

    const std::size_t of_widest = block_count * packing.number_words_max();
    EXPECT_EQ(packing.words(std::span(windows).subspan(2, 1), block_count), of_widest);
    EXPECT_EQ(packing.blocks_within(0, windows, count), 1U);
    EXPECT_EQ(packing.blocks_within(2 * block_count, windows, count), 2U);
    EXPECT_EQ(packing.blocks_within(2 * block_count + of_widest, windows, count), 3U);
    EXPECT_EQ(packing.blocks_within(2 * block_count + of_widest + 7, windows, count), 4U);
}

TEST(WindowTest, AWindowHoldsForTheLargestAndTheFinest) {
    std::vector<Window> windows(1);
    find_windows(std::span<const double>(std::vector<double>{3.0, -0.25, 0.0}), std::span(windows));

    EXPECT_EQ(windows[0], (Window{2, 2, 0}));
}

}  // namespace
}  // namespace lanewise::sums
