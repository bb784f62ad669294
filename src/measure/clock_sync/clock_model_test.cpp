// SPDX-License-Identifier: BSD-3-Clause
//
// What needs no rank: exchanges with a clock of known offset over links of known
// delays, the line through offsets, and who synchronises with whom.

#include "measure/clock_sync/clock_model.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "measure/clock_sync/global_clock.hpp"

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

TEST(ClockModel, RecoversOffsetAndDriftFromExactOffsets) {
    std::vector<Offset> offsets;
    for (int i = 0; i < 50; ++i) {
        const double t = 1e5 + 0.01 * i;
        offsets.push_back({t, 3.0 + 50e-6 * (t - 1e5), 1e-7});
    }

    const auto model = fit_clock(offsets);

    EXPECT_NEAR(model.slope, 50e-6, 1e-10);
    EXPECT_NEAR(model.global_s(1e5 + 10.0), 1e5 + 10.0 + 3.0 + 500e-6, 1e-8);
}

TEST(ClockModel, HardlyListensToAnUncertainOffset) {
    std::vector<Offset> offsets;
    for (int i = 0; i < 20; ++i) offsets.push_back({0.01 * i, 1.0, 1e-7});
    offsets.push_back({0.1, 1.001, 1e-3});

    EXPECT_NEAR(fit_clock(offsets).global_s(0.1), 1.1, 1e-9);
}

TEST(ClockModel, TakesOneOffsetAsConstant) {
    const std::vector<Offset> offsets = {{5.0, 2.0, 1e-7}};

    const auto model = fit_clock(offsets);

    EXPECT_EQ(model.slope, 0.0);
    EXPECT_DOUBLE_EQ(model.global_s(9.0), 11.0);
}

TEST(ClockModel, ExtrapolatesTenSecondsWithinAMicrosecondFromNoisyOffsets) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> noise(0.0, 50e-9);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<Offset> offsets;
        for (int i = 0; i < 200; ++i) {
            const double t = 0.005 * i;
            offsets.push_back({t, 1.0 + 50e-6 * t + noise(random), 50e-9});
        }
        EXPECT_NEAR(fit_clock(offsets).global_s(11.0), 12.0 + 550e-6, 1e-6);
    }
}

TEST(Hca3Rounds, SynchroniseEachMemberOnceWithOneThatKnowsForEveryCountTo300) {
    for (int count = 1; count <= 300; ++count) {
        std::set<int> knowing = {0};
        for (const auto& round : hca3_rounds(count)) {
            std::set<int> busy;
            std::set<int> learned;
            for (const auto& pair : round) {
                EXPECT_TRUE(knowing.contains(pair.reference)) << count;
                EXPECT_FALSE(knowing.contains(pair.client)) << count;
                EXPECT_TRUE(busy.insert(pair.reference).second) << count;
                EXPECT_TRUE(busy.insert(pair.client).second) << count;
                learned.insert(pair.client);
            }
            knowing.merge(learned);
        }
        EXPECT_EQ(knowing.size(), static_cast<std::size_t>(count));
    }
}

TEST(Hca3Rounds, TakeAsManyRoundsAsTheLogarithmRoundedUp) {
    for (unsigned count = 1; count <= 300; ++count) {
        EXPECT_EQ(hca3_rounds(static_cast<int>(count)).size(),
                  static_cast<std::size_t>(std::bit_width(count - 1)));
    }
}

}  // namespace
}  // namespace lanewise::measure
