// SPDX-License-Identifier: BSD-3-Clause

#include "tune/candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lanewise::tune {
namespace {

using collectives::Collective;

TEST(Candidates, AreThoseThatCanServe) {
    for (int i = 0; i < collectives::collective_count; ++i) {
        for (int ranks = 2; ranks < 10; ++ranks) {
            const auto collective = static_cast<Collective>(i);
            const collectives::CallTraits call{.ranks = ranks};
            for (const auto& candidate : candidates(collective, 65536, call, {})) {
                ASSERT_NE(candidate.lanewise, nullptr);
                EXPECT_EQ(candidate.lanewise->collective, collective);
                EXPECT_TRUE(collectives::refusal(*candidate.lanewise, call).empty());
            }
        }
    }
}

TEST(Candidates, AreTreesOfARadixBelowTheNumberOfRanks) {
    for (const auto collective :
         {Collective::bcast, Collective::scatter, Collective::gather, Collective::reduce}) {
        std::set<std::string> names;
        for (const auto& candidate : candidates(collective, 65536, {.ranks = 8}, {})) {
            names.insert(candidate.algorithm);
        }

        EXPECT_TRUE(names.contains("knomial:3"));
        EXPECT_TRUE(names.contains("knomial:4"));
        EXPECT_FALSE(names.contains("knomial:8"));
    }
}

TEST(Candidates, AreTreesOfAnyRadixThatIsAskedFor) {
    const std::vector<std::string> names = {"knomial:5", "knomial:3", "knomial:5", "knomial:8",
                                            "knomial:65"};

    auto list = candidates(Collective::bcast, 1024, {.ranks = 8}, {}, names);
    keep_named(list, names);

    std::multiset<std::string> found;
    for (const auto& candidate : list) found.insert(candidate.algorithm);
    EXPECT_EQ(found, (std::multiset<std::string>{"knomial:3", "knomial:5"}));
}

TEST(Candidates, HaveNoWindowThatHoldsAllMessages) {
    const auto has = [](const char *name, int ranks) {
        const auto found = candidates(Collective::alltoallv, 1024, {.ranks = ranks}, {});
        return std::ranges::any_of(
            found, [&](const Candidate& candidate) { return candidate.algorithm == name; });
    };

    EXPECT_FALSE(has("scattered:4", 5));
    EXPECT_TRUE(has("scattered:4", 6));
    EXPECT_FALSE(has("scattered:16", 17));
    EXPECT_TRUE(has("linear_nb", 5));
}

TEST(Candidates, HaveSegmentsOfWhichAMessageHoldsTwo) {
    const std::vector<MpiAlgorithm> own = {{"pipeline", 3, true}, {"linear", 1, false}};

    std::vector<std::int64_t> segments;
    for (const auto& candidate : candidates(Collective::bcast, 65536, {.ranks = 4}, own)) {
        if (candidate.algorithm == "linear" && candidate.origin == Origin::mpi) {
            EXPECT_EQ(candidate.segment_bytes, 0);
        }
        if (candidate.algorithm == "pipeline" && candidate.origin == Origin::mpi)
            segments.push_back(candidate.segment_bytes);
    }

    EXPECT_EQ(segments, (std::vector<std::int64_t>{0, 8192, 32768}));
}

TEST(Candidates, HaveOneTwoFourAndTheMostLanesBetweenSites) {
    const collectives::CallTraits call{.ranks = 12, .sites = true, .lanes_max = 6};

    std::vector<int> lanes;
    for (const auto& candidate : candidates(Collective::scatter, 65536, call, {})) {
        if (candidate.algorithm == "multilane") lanes.push_back(candidate.lanes);
    }

    EXPECT_EQ(lanes, (std::vector<int>{1, 2, 4, 6}));
}

TEST(Candidates, HaveEveryNumberOfLanesThatThePlatformDoesNotRuleOut) {
    const collectives::CallTraits call{
        .ranks = 20, .platform = true, .sites = true, .lanes_max = 10};
    auto list = candidates(Collective::scatter, 65536, call, {});
    // Of ten lanes, six would be the best, and the link is full with five.
    for (auto& candidate : list) {
        if (candidate.lanes != 9) candidate.predicted_s = candidate.lanes < 5 ? 2e-3 : 1.2e-3;
        if (candidate.lanes == 6) candidate.predicted_s = 1e-3;
    }

    rule_out_lanes(list, 1.25);

    std::vector<int> lanes;
    for (const auto& candidate : list) {
        if (candidate.algorithm == "multilane") lanes.push_back(candidate.lanes);
    }
    EXPECT_EQ(lanes, (std::vector<int>{1, 2, 4, 5, 6, 7, 8, 10}));
}

TEST(Candidates, HaveNoLanesWhereSitesAreUnknown) {
    for (const auto& candidate : candidates(Collective::scatter, 65536, {.ranks = 12}, {})) {
        EXPECT_FALSE(candidate.lanewise->needs.sites) << candidate.algorithm;
    }
}

TEST(Candidates, InOneOrderAreThoseOfTheBracketingWithoutTheReference) {
    const std::vector<MpiAlgorithm> own = {{"ring", 3, true}};
    const auto *direct = collectives::find_algorithm(Collective::allreduce, "direct");
    auto list = candidates(Collective::allreduce, 65536, {.ranks = 4}, own);

    keep_balanced(list, direct);

    std::set<std::string> names;
    for (const auto& candidate : list) {
        ASSERT_NE(candidate.lanewise, nullptr);
        EXPECT_EQ(candidate.lanewise->bracketing, collectives::Bracketing::balanced);
        EXPECT_TRUE(candidate.lanewise != direct || candidate.segment_bytes > 0);
        names.insert(candidate.algorithm);
    }
    EXPECT_EQ(names, (std::set<std::string>{"binomial", "direct", "linear_nb", "rabenseifner",
                                            "recursive_doubling"}));
}

TEST(Candidates, AreOnlyThoseWhoseNamesWereAskedFor) {
    const std::vector<MpiAlgorithm> own = {{"binomial", 3, true}, {"pipeline", 1, false}};
    auto list = candidates(Collective::bcast, 65536, {.ranks = 4}, own);
    const auto all = list.size();

    keep_named(list, {});
    EXPECT_EQ(list.size(), all);
    keep_named(list, {"binomial"});

    EXPECT_GE(list.size(), 2U);
    for (const auto& candidate : list) EXPECT_EQ(candidate.algorithm, "binomial");
}

TEST(Prune, MarksWhatIsPredictedFarBehindTheBest) {
    std::vector<Candidate> list(4);
    list[0].predicted_s = 1e-6;
    list[1].predicted_s = 2.9e-6;
    list[2].predicted_s = 3.1e-6;

    prune(list, 3.0);

    EXPECT_FALSE(list[0].pruned);
    EXPECT_FALSE(list[1].pruned);
    EXPECT_TRUE(list[2].pruned);
    EXPECT_FALSE(list[3].pruned) << "nothing was predicted of it";
}

}  // namespace
}  // namespace lanewise::tune
