// SPDX-License-Identifier: BSD-3-Clause
//
// Exchanges with a clock of known offset, over links of known delays.

#include "measure/clock_sync/bracket.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lanewise::measure {
namespace {

TEST(Bracket, OfOneExchangeIsItsMiddle) {
    Bracket bracket;

    bracket.add(10.0, 13.5, 11.0);

    const auto offset = bracket.offset();
    EXPECT_DOUBLE_EQ(offset.at_s, 10.5);
    EXPECT_DOUBLE_EQ(offset.offset_s, 3.0);
    EXPECT_DOUBLE_EQ(offset.uncertainty_s, 0.5);
}

// Defect 4 of the original: the sign was wrong. The other clock is ahead, so the offset is above 0.
TEST(Bracket, OfAClockAheadIsPositive) {
    Bracket bracket;
    bracket.add(10.0, 13.5, 11.0);
    EXPECT_GT(bracket.offset().offset_s, 0.0);
}

TEST(Bracket, HoldsTheTruthHoweverUnequalTheWays) {
    std::mt19937_64 random(11);
    std::exponential_distribution<double> delay(1.0);
    std::uniform_real_distribution<double> truth(-100.0, 100.0);
    for (int trial = 0; trial < 1000; ++trial) {
        const double offset_s = truth(random);
        Bracket bracket;
        double now = 0.0;
        for (int i = 0; i < 10; ++i) {
            const double there = now + delay(random);
            const double back = there + delay(random);
            bracket.add(now, there + offset_s, back);
            now = back;
        }

        const auto found = bracket.offset();

        EXPECT_LE(std::abs(found.offset_s - offset_s), found.uncertainty_s * (1.0 + 1e-9));
    }
}

TEST(Bracket, IsNarrowerThanEachOfItsExchanges) {
    Bracket bracket;
    bracket.add(0.0, 0.9, 1.0);
    bracket.add(2.0, 2.1, 3.0);

    EXPECT_NEAR(bracket.offset().offset_s, 0.0, 1e-12);
    EXPECT_NEAR(bracket.offset().uncertainty_s, 0.1, 1e-12);
}

// A rank was put aside between two quick exchanges while its clock ran away.
TEST(Bracket, ThatDriftLeavesEmptyClaimsNoCertainty) {
    Bracket bracket;
    bracket.add(0.0, 0.5, 1.0);
    bracket.add(100.0, 101.9, 101.2);

    const auto offset = bracket.offset();

    EXPECT_DOUBLE_EQ(offset.at_s, 0.5);
    EXPECT_DOUBLE_EQ(offset.offset_s, 0.0);
    EXPECT_DOUBLE_EQ(offset.uncertainty_s, 0.5);
}

}  // namespace
}  // namespace lanewise::measure
