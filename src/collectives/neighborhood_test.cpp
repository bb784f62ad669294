// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/neighborhood.hpp"

#include <gmock/gmock.h>

#include <set>
#include <utility>

namespace lanewise::collectives {
namespace {

using ::testing::ElementsAre;

std::vector<int> neighbors_of(int rank, int ranks) {
    std::vector<int> found;
    for (int block = 0; block < grid_degree; ++block) {
        found.push_back(grid_neighbor(ranks, rank, block));
    }
    return found;
}

TEST(NeighborhoodTest, OnAGridHasTheRankBeforeAndTheRankAfterInBothDimensions) {
    // 0 1 2 3
    // 4 5 6 7
    // 8 9 ...
    EXPECT_THAT(neighbors_of(5, 12), ElementsAre(1, 9, 4, 6));
    EXPECT_THAT(neighbors_of(0, 12), ElementsAre(8, 4, 3, 1));
    EXPECT_THAT(neighbors_of(2, 5), ElementsAre(2, 2, 1, 3)) << "in a row";
}

TEST(NeighborhoodTest, GivesEachBlockOfAGridToOneEdgeOnAnyNumberOfRanks) {
    for (int ranks = 1; ranks <= 30; ++ranks) {
        std::set<std::pair<int, int>> sent;
        std::set<std::pair<int, int>> received;
        for (const auto& edge : grid_edges(ranks)) {
            EXPECT_EQ(edge.to, grid_neighbor(ranks, edge.from, edge.sent));
            EXPECT_EQ(edge.from, grid_neighbor(ranks, edge.to, edge.received));
            sent.insert({edge.from, edge.sent});
            received.insert({edge.to, edge.received});
        }
        const auto blocks = static_cast<std::size_t>(ranks * grid_degree);
        ASSERT_EQ(sent.size(), blocks) << ranks;
        ASSERT_EQ(received.size(), blocks) << ranks;
    }
}

TEST(NeighborhoodTest, RepeatsItselfWhereARankStandsThereTwiceAndNobodyIsNoRank) {
    EXPECT_FALSE(repeats({}));
    EXPECT_FALSE(repeats(std::vector{3, 1, 0}));
    EXPECT_FALSE(repeats(std::vector{-2, 1, -2}));
    EXPECT_TRUE(repeats(std::vector{3, 1, 3}));
}

}  // namespace
}  // namespace lanewise::collectives
