// SPDX-License-Identifier: BSD-3-Clause
//
// The least-squares line, and its cuts at 0.

#include "model/models/line.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lanewise::model {
namespace {

std::vector<Mark> marks_on(double intercept, double slope, const std::vector<double>& xs) {
    std::vector<Mark> marks;
    for (const double x : xs) marks.push_back({x, intercept + slope * x, intercept + slope * x});
    return marks;
}

TEST(LineTest, FindsTheLineThatPointsLieOn) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> power(-9.0, -3.0);
    for (int i = 0; i < 500; ++i) {
        const double intercept = std::pow(10.0, power(random));
        const double slope = std::pow(10.0, power(random)) * 1e-3;
        const auto line = fit_line(marks_on(intercept, slope, {0, 1, 100, 1e4, 1e6}));
        EXPECT_NEAR(line.intercept / intercept, 1.0, 1e-6);
        EXPECT_NEAR(line.slope / slope, 1.0, 1e-6);
    }
}

TEST(LineTest, IsLevelWhereAllPointsHaveOneX) {
    const std::vector<Mark> marks{{8, 3, 1}, {8, 5, 1}};
    const auto line = fit_line(marks);
    EXPECT_DOUBLE_EQ(line.intercept, 4.0);
    EXPECT_DOUBLE_EQ(line.slope, 0.0);
}

TEST(LineTest, IsNothingWithoutPoints) {
    EXPECT_DOUBLE_EQ(fit_line({}).at(7.0), 0.0);
    EXPECT_DOUBLE_EQ(fit_slope({}), 0.0);
}

TEST(LineTest, SetsAFallingSlopeToZeroAndKeepsWhatItWas) {
    const auto line = fit_line(std::vector<Mark>{{0, 3, 1}, {1, 2, 1}});
    EXPECT_DOUBLE_EQ(line.slope, 0.0);
    EXPECT_DOUBLE_EQ(line.cut_slope, -1.0);
    EXPECT_DOUBLE_EQ(line.intercept, 2.5);
}

TEST(LineTest, SetsANegativeInterceptToZeroAndFitsTheSlopeAnew) {
    const auto line = fit_line(std::vector<Mark>{{1, 1, 1}, {2, 4, 1}});
    EXPECT_DOUBLE_EQ(line.intercept, 0.0);
    EXPECT_DOUBLE_EQ(line.cut_intercept, -2.0);
    EXPECT_DOUBLE_EQ(line.slope, 9.0 / 5.0);
}

}  // namespace
}  // namespace lanewise::model
