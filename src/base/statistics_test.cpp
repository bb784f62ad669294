// SPDX-License-Identifier: BSD-3-Clause
//
// The intervals against exhaustive counts, textbook values and simulation.

#include "base/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace lanewise {
namespace {

// P(Bin(n, 1/2) <= l) by summing the binomial coefficients.
double tail(std::size_t n, std::size_t l) {
    double term = std::pow(0.5, static_cast<double>(n));
    double sum = 0.0;
    for (std::size_t k = 0; k <= l; ++k) {
        sum += term;
        term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
    return sum;
}

TEST(MedianRanks, AreTheNarrowestThatReachTheConfidenceForEveryCountTo300) {
    for (const double confidence : {0.5, 0.9, 0.95, 0.99}) {
        for (std::size_t n = 1; n <= 300; ++n) {
            const auto ranks = median_ranks(n, confidence);
            const double wanted = 1.0 - confidence;
            ASSERT_EQ(ranks.high, n - 1 - ranks.low);
            if (!ranks.wide_enough) {
                EXPECT_EQ(ranks.low, 0u) << n;
                EXPECT_GT(2.0 * tail(n, 0), wanted - 1e-12) << n;
                continue;
            }
            EXPECT_LE(2.0 * tail(n, ranks.low), wanted + 1e-12) << n;
            if (ranks.low + 2 <= n / 2) {
                EXPECT_GT(2.0 * tail(n, ranks.low + 1), wanted - 1e-12) << n;
            }
        }
    }
}

TEST(MedianRanks, SixValuesAreTheFewestForNinetyFivePercent) {
    EXPECT_FALSE(median_ranks(5, 0.95).wide_enough);
    EXPECT_TRUE(median_ranks(6, 0.95).wide_enough);
}

TEST(MedianInterval, CoversTheMedianOfAnExponentialAsOftenAsPromised) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> exponential(1.0);
    const int trials = 4000;
    int covered = 0;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> values(50);
        for (auto& value : values) value = exponential(random);
        const auto interval = median_interval(values, 0.95);
        if (interval.low <= std::log(2.0) && std::log(2.0) <= interval.high) ++covered;
    }
    EXPECT_GE(covered, trials * 94 / 100);
}

TEST(StudentInterval, IsTwoSided) {
    const std::vector<double> values = {1, 2, 3, 4, 5};

    const auto interval = student_interval(values, 0.95);

    // t(0.975, 4) = 2.776445; the one-sided quantile would be 2.131847.
    EXPECT_NEAR(interval.high - 3.0, 2.776445 * std::sqrt(2.5 / 5.0), 1e-5);
    EXPECT_NEAR(3.0 - interval.low, 2.776445 * std::sqrt(2.5 / 5.0), 1e-5);
}

TEST(StudentInterval, IsUnboundedForASingleValue) {
    const std::vector<double> values = {1.0};

    EXPECT_TRUE(std::isinf(student_interval(values, 0.95).high));
}

TEST(Quantile, TakesTheMiddleOfAnEvenCount) {
    EXPECT_DOUBLE_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
    EXPECT_DOUBLE_EQ(median(std::vector<double>{3, 1, 2}), 2.0);
    EXPECT_TRUE(std::isnan(median(std::vector<double>{})));
}

// What takes 236 ns ends after 230 or 240 on a clock that goes by steps of 10.
TEST(Midmean, SeesBetweenTheStepsOfAClock) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<> phase(0.0, 10.0);
    std::vector<double> values;
    for (int i = 0; i < 400; ++i) {
        const double begin = phase(random);
        values.push_back(10.0 * (std::floor((begin + 236.0) / 10.0) - std::floor(begin / 10.0)));
    }
    EXPECT_EQ(median(values), 240.0);
    EXPECT_NEAR(midmean(values), 236.0, 2.5);
}

TEST(Midmean, IsNotMovedByOutliers) {
    EXPECT_EQ(midmean(std::vector{3.0, 1e9, 1.0, 2.0, 2.0, -1e9, 3.0, 2.0}), 2.25);
}

TEST(Outliers, AreCountedAndNothingElseIs) {
    std::vector<double> values(100);
    std::iota(values.begin(), values.end(), 0.0);
    EXPECT_EQ(outlier_count(values), 0u);

    EXPECT_EQ(outlier_count(std::vector(9, 1.0)), 0u);
    values.push_back(1e6);
    values.push_back(-1e6);

    EXPECT_EQ(outlier_count(values), 2u);
}

TEST(Interval, WithoutAPositiveCentreIsNeverNarrowEnough) {
    EXPECT_TRUE(std::isinf((Interval{0.0, 0.0, 0.0}.relative_error())));
    EXPECT_TRUE(std::isinf((Interval{-1.0, -1.0, -1.0}.relative_error())));
    EXPECT_TRUE(std::isinf(
        (Interval{std::numeric_limits<double>::quiet_NaN(), 0.0, 0.0}.relative_error())));
}

TEST(Interval, WithoutEndsIsNeverNarrowEnough) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();

    EXPECT_TRUE(std::isinf((Interval{1.0, none, none}.relative_error())));
}

}  // namespace
}  // namespace lanewise
