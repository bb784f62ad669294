// SPDX-License-Identifier: BSD-3-Clause
//
// Sites found by latency, on hosts whose sites are known.

#include "model/lanes/latency_sites.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace lanewise::model {
namespace {

using Sites = std::vector<int>;

/* 50 us inside a site and a little more with distance, so much between sites. */
auto between(const Sites& truth, double apart_s) {
    return [truth, apart_s](int from, int to) {
        const auto site = [&](int host) { return truth[static_cast<std::size_t>(host)]; };
        const double inside_s = 50e-6 + 10e-6 * std::abs(from - to);
        return site(from) == site(to) ? inside_s : apart_s + inside_s;
    };
}

TEST(LatencySites, AreToldApartByTheWidestGap) {
    const Sites truth = {0, 0, 0, 1, 1, 1, 1};

    EXPECT_EQ(sites_by_latency(7, between(truth, 5e-3)), truth);
}

TEST(LatencySites, AreFoundInWhateverOrderHostsStand) {
    const Sites truth = {0, 1, 0, 2, 1, 2, 0};

    EXPECT_EQ(sites_by_latency(7, between(truth, 3e-3)), truth);
}

TEST(LatencySites, AreOneWhereAllLatenciesAreAlike) {
    const Sites truth = {0, 0, 0, 0};

    EXPECT_EQ(sites_by_latency(4, between(truth, 5e-3)), truth);
}

TEST(LatencySites, MayHaveASingleHostEach) {
    const Sites truth = {0, 0, 1, 2};

    EXPECT_EQ(sites_by_latency(4, between(truth, 5e-3)), truth);
}

TEST(LatencySites, KeepTogetherWhatOneDisturbedLookTellsApart) {
    const Sites truth = {0, 0, 0, 1, 1};
    const auto calm = between(truth, 5e-3);
    const auto disturbed = [&](int from, int to) {
        return calm(from, to) * (from == 0 && to == 2 ? 3.0 : 1.0);
    };

    EXPECT_EQ(sites_by_latency(5, disturbed), truth);
}

TEST(LatencySites, AreFoundWhereAClockSeesNoLatencyAtAll) {
    const Sites truth = {0, 0, 0, 1, 1};
    const auto seen = between(truth, 5e-3);
    const auto coarse = [&](int from, int to) { return to == 1 ? 0.0 : seen(from, to); };

    EXPECT_EQ(sites_by_latency(3, [](int, int) { return 0.0; }), Sites({0, 0, 0}));
    EXPECT_EQ(sites_by_latency(5, coarse), truth);
}

TEST(LatencySites, LookFromOneHostOfEachSite) {
    const Sites truth = {0, 0, 0, 0, 1, 1, 1, 1};
    int looks = 0;

    sites_by_latency(8, [&](int from, int to) {
        ++looks;
        return between(truth, 5e-3)(from, to);
    });

    EXPECT_EQ(looks, 2 * 7);
}

}  // namespace
}  // namespace lanewise::model
