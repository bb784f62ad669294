// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/watch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lanewise::tuned {
namespace {

/* How many looks it takes until a rule is put aside whose calls take `ratio` times as long; 0: it
   is not in `looks_max` looks. Times scatter widely, as they do in programs. */
std::size_t looks_until_aside(double ratio, std::size_t looks_max, std::uint64_t seed) {
    Watch watch;
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> own_ns(9.0, 0.5);
    for (std::size_t look = 1; look <= looks_max; ++look) {
        while (!watch.is_due()) {
            watch.ruled(64, std::llround(ratio * own_ns(random)));
            watch.sampled(64, std::llround(own_ns(random)));
        }
        if (watch.look()) return look;
    }
    return 0;
}

TEST(Watch, PutsASlowRuleAside) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto looks = looks_until_aside(2.0, 10, seed);
        EXPECT_GE(looks, 1u) << seed;
        EXPECT_LE(looks, 3u) << seed;
    }
}

TEST(Watch, FindsASmallLossInTime) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_GT(looks_until_aside(1.2, 100, seed), 0u) << seed;
    }
}

TEST(Watch, KeepsAFastRule) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_EQ(looks_until_aside(0.8, 200, seed), 0u) << seed;
    }
}

TEST(Watch, SeldomPutsARuleAsideThatIsAsFast) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        wrong += looks_until_aside(1.0, 100, seed) > 0;
    }
    // 5 % of 400 are 20; more than 34 come about once in 1000 times.
    EXPECT_LE(wrong, 34);
}

TEST(Watch, ComparesCallsOfOneSizeOnly) {
    Watch watch;
    for (std::size_t i = 0; i < 10 * Watch::pairs_in_look; ++i) {
        watch.ruled(64, 1000);
        watch.sampled(65, 100);
    }

    EXPECT_FALSE(watch.is_due());
}

TEST(Watch, UsesACallForOnePairOnly) {
    Watch watch;
    watch.ruled(64, 1000);
    watch.sampled(64, 500);
    watch.sampled(64, 500);

    ASSERT_EQ(watch.pairs().size(), 1u);
    EXPECT_DOUBLE_EQ(watch.pairs()[0], std::log(2.0));
}

TEST(Watch, TellsTheRatioOfWhatItSaw) {
    Watch watch;
    for (std::size_t i = 0; i < Watch::pairs_in_look; ++i) {
        watch.ruled(64, 3000);
        watch.sampled(64, 2000);
    }
    ASSERT_TRUE(watch.is_due());

    EXPECT_TRUE(watch.look());
    EXPECT_EQ(watch.observations(), Watch::pairs_in_look);
    EXPECT_DOUBLE_EQ(watch.ratio(), 1.5);
}

}  // namespace
}  // namespace lanewise::tuned
