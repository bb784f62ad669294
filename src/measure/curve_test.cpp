// SPDX-License-Identifier: BSD-3-Clause
//
// The adaptive curve asked about times that are known functions of the size.

#include "measure/curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <set>

namespace lanewise::measure {
namespace {

using Time = std::function<double(std::uint64_t)>;

struct Traced {
    std::vector<std::vector<std::uint64_t>> waves;
    std::set<std::uint64_t> sizes;
};

Traced trace(Curve curve, const Time& time_s) {
    Traced traced;
    while (!curve.wanted().empty() && traced.waves.size() < 64) {
        const auto wave = curve.wanted();
        traced.waves.push_back(wave);
        traced.sizes.insert(wave.begin(), wave.end());
        std::vector<double> medians_s;
        for (const auto bytes : wave) medians_s.push_back(time_s(bytes));
        curve.add(medians_s);
    }
    return traced;
}

// A straight line with a jump at `knee`, as at the limit of the eager protocol.
Time jump_at(std::uint64_t knee) {
    return [knee](std::uint64_t bytes) {
        return 1e-6 + 1e-9 * static_cast<double>(bytes) + (bytes >= knee ? 1e-3 : 0.0);
    };
}

std::uint64_t gap_around(const std::set<std::uint64_t>& sizes, std::uint64_t knee) {
    const auto above = sizes.lower_bound(knee);
    return *above - *std::prev(above);
}

TEST(Curve, AsksFirstForTheGivenSizesSortedAndOnce) {
    const std::vector<std::uint64_t> given = {4096, 64, 4096, 1024};

    const Curve curve(given, 64, 0.1);

    EXPECT_EQ(curve.wanted(), (std::vector<std::uint64_t>{64, 1024, 4096}));
}

TEST(Curve, AsksOfAStraightLineForOneWaveOfMiddles) {
    const std::vector<std::uint64_t> given = {0, 1024, 65536};

    const auto traced = trace(Curve(given, 64, 0.05), jump_at(1u << 30));

    ASSERT_EQ(traced.waves.size(), 2u);
    EXPECT_EQ(traced.waves[1], (std::vector<std::uint64_t>{512, 33280}));
}

TEST(Curve, FindsAKneeWithinTwiceTheStride) {
    std::mt19937_64 random(6);
    const std::vector<std::uint64_t> given = {0, 1u << 20};
    constexpr std::uint64_t stride = 1024;
    for (int trial = 0; trial < 200; ++trial) {
        const auto knee = 2048 + random() % ((1u << 20) - 4096);

        const auto traced = trace(Curve(given, stride, 0.05), jump_at(knee));

        EXPECT_LE(gap_around(traced.sizes, knee), 2 * stride) << "knee at " << knee;
        EXPECT_LT(traced.sizes.size(), 64u) << "knee at " << knee;
    }
}

TEST(Curve, NeverHalvesBelowTheStride) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> noise(1.0, 100.0);
    const std::vector<std::uint64_t> given = {0, 100'000};
    constexpr std::uint64_t stride = 1000;

    const auto traced = trace(Curve(given, stride, 1e-6), [&](auto) { return noise(random); });

    ASSERT_GT(traced.sizes.size(), 10u);
    for (auto at = std::next(traced.sizes.begin()); at != traced.sizes.end(); ++at) {
        EXPECT_GE(*at - *std::prev(at) + 4, stride);
    }
}

TEST(Curve, AsksForMultiplesOfFourBetweenTheGivenSizes) {
    std::mt19937_64 random(8);
    std::uniform_real_distribution<double> noise(1.0, 100.0);
    const std::vector<std::uint64_t> given = {1, 9999};

    const auto traced = trace(Curve(given, 0, 1e-6), [&](auto) { return noise(random); });

    for (std::size_t wave = 1; wave < traced.waves.size(); ++wave) {
        for (const auto bytes : traced.waves[wave]) {
            EXPECT_EQ(bytes % 4, 0u);
            EXPECT_TRUE(1 < bytes && bytes < 9999) << bytes;
        }
    }
}

TEST(Curve, AsksForNoSizeTwice) {
    std::mt19937_64 random(9);
    std::uniform_real_distribution<double> noise(1.0, 100.0);
    const std::vector<std::uint64_t> given = {0, 100, 100'000};

    const auto traced = trace(Curve(given, 8, 1e-6), [&](auto) { return noise(random); });

    std::size_t asked = 0;
    for (const auto& wave : traced.waves) asked += wave.size();
    EXPECT_EQ(asked, traced.sizes.size());
}

TEST(Curve, EndsOnTimesThatAreNotNumbers) {
    const std::vector<std::uint64_t> given = {0, 1u << 16};

    const auto traced = trace(Curve(given, 1024, 0.05),
                              [](auto) { return std::numeric_limits<double>::quiet_NaN(); });

    EXPECT_LT(traced.waves.size(), 64u);
}

TEST(Curve, HalvesTheWidestRangeOfSixtyFourBits) {
    const std::vector<std::uint64_t> given = {0, std::numeric_limits<std::uint64_t>::max()};

    const auto traced = trace(Curve(given, std::uint64_t{1} << 60, 0.05), jump_at(1u << 20));

    EXPECT_GE(traced.sizes.size(), 3u);
    EXPECT_LT(traced.waves.size(), 64u);
}

}  // namespace
}  // namespace lanewise::measure
