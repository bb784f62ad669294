// SPDX-License-Identifier: BSD-3-Clause

#include "tune/promise.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanewise::tune {
namespace {

using collectives::Collective;

constexpr int ranks = 8;
constexpr std::uint64_t large_bytes = 25 << 20;

collectives::RankPlacement on_one_host() {
    collectives::RankPlacement located;
    located.hosts.assign(ranks, 0);
    return located;
}

collectives::RankPlacement at_two_sites() {
    collectives::RankPlacement located;
    located.hosts = {0, 1, 2, 3, 4, 5, 6, 7};
    located.sites = {0, 0, 0, 0, 1, 1, 1, 1};
    return located;
}

/* The names of the candidates of an allreduce, the most promising first. */
std::vector<std::string> in_order(const collectives::RankPlacement& located,
                                  std::uint64_t message_bytes) {
    const bool sites = located.site_count() > 1;
    const collectives::CallTraits call{
        .ranks = ranks, .hosts = located.host_count() > 1, .sites = sites};
    auto found = candidates(Collective::allreduce, message_bytes, call, {{"own", 1, false}});
    promise(found, Collective::allreduce, ranks, message_bytes, located);
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
        return a.promise_s < b.promise_s;
    });
    std::vector<std::string> names;
    for (const auto& candidate : found) names.push_back(candidate.algorithm);
    return names;
}

std::size_t place_of(const std::string& name, const std::vector<std::string>& names) {
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_NE(found, names.end()) << name;
    return static_cast<std::size_t>(found - names.begin());
}

TEST(Promise, OfALargeVectorIsGreaterWhereRanksSendLess) {
    const auto names = in_order(on_one_host(), large_bytes);

    for (const auto *less : {"rabenseifner", "ring", "direct"}) {
        EXPECT_LT(place_of(less, names), place_of("recursive_doubling", names));
        EXPECT_LT(place_of(less, names), place_of("linear", names));
    }
}

TEST(Promise, OfASmallVectorIsGreaterWhereThereAreFewRounds) {
    const auto names = in_order(on_one_host(), 8);

    EXPECT_LT(place_of("recursive_doubling", names), place_of("ring", names));
}

TEST(Promise, BetweenSitesIsGreaterWhereLessCrosses) {
    const auto names = in_order(at_two_sites(), large_bytes);

    EXPECT_LT(place_of("multilane", names), place_of("ring", names));
    EXPECT_LT(place_of("multilane", names), place_of("own", names));
    EXPECT_LT(place_of("rabenseifner", names), place_of("ring", names));
    EXPECT_LT(place_of("own", names), place_of("linear", names));
}

}  // namespace
}  // namespace lanewise::tune
