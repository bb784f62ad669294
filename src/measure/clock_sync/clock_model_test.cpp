// SPDX-License-Identifier: BSD-3-Clause

#include "measure/clock_sync/clock_model.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanewise::measure {
namespace {

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

}  // namespace
}  // namespace lanewise::measure
