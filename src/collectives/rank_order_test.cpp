// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/rank_order.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "collectives/tree.hpp"
#include "model/simulation/network.hpp"
#include "model/simulation/uniform_network.hpp"

namespace lanewise::collectives {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;

CallShape shape_of(int ranks, int root, const model::Network& network) {
    CallShape shape;
    shape.ranks = ranks;
    shape.root = root;
    shape.count = 1000;
    shape.network = &network;
    return shape;
}

// `slow` ranks take ten times as long over a message as the others.
model::Network with_slow(const std::vector<int>& slow) {
    model::Network network;
    network.cost = [slow](int, int to, std::int64_t bytes) {
        const bool late = std::find(slow.begin(), slow.end(), to) != slow.end();
        return model::MessageCost{.send_s = 1e-6,
                                  .receive_s = (late ? 1e-8 : 1e-9) * static_cast<double>(bytes)};
    };
    return network;
}

std::vector<int> subtrees_of(const RankOrder& order, const std::vector<int>& ranks) {
    std::vector<int> sizes;
    for (const int rank : ranks) {
        sizes.push_back(binomial_subtree(order.node_of(rank), order.ranks));
    }
    return sizes;
}

TEST(RankOrderTest, LeavesRanksInTheirOrderWhereAllAreAlike) {
    const auto network = model::uniform_network(6, {.latency_s = 1e-6}, {.egress_s = 1e-9});

    const auto order = lmo_order(shape_of(6, 4, network), Direction::from_root);

    EXPECT_THAT(order.rank_of_node, ElementsAre(4, 5, 0, 1, 2, 3));
}

TEST(RankOrderTest, MakesLeavesOfSlowRanks) {
    const std::vector<int> slow{2, 4, 8, 12};
    const auto network = with_slow(slow);

    const auto order = lmo_order(shape_of(16, 0, network), Direction::from_root);

    EXPECT_THAT(subtrees_of(order, slow), Each(1));
}

// A message to an odd rank is on its way for half as long again as one to an even rank.
TEST(RankOrderTest, CountsTheTimeOfBothInterfacesOnce) {
    model::Network network;
    network.cost = [](int, int to, std::int64_t bytes) {
        const double wire_s = 1e-9 * static_cast<double>(bytes);
        if (to % 2 == 0) return model::MessageCost{.egress_s = wire_s, .ingress_s = wire_s};
        return model::MessageCost{.egress_s = wire_s, .latency_s = wire_s / 2.0};
    };

    const auto order = lmo_order(shape_of(8, 0, network), Direction::from_root);

    EXPECT_EQ(order.rank_at(4), 4) << "the soonest that is not out of its turn";
    EXPECT_THAT(subtrees_of(order, {1, 3, 5, 7}), Each(1));
    EXPECT_THAT(subtrees_of(order, {2, 6}), ElementsAre(2, 2));
}

TEST(RankOrderTest, GivesLargeSubtreesToFastRanks) {
    std::vector<int> slow(64);
    std::iota(slow.begin(), slow.end(), 0);
    const std::vector<int> fast{13, 37, 61};
    std::erase_if(slow, [&](int rank) { return rank == 13 || rank == 37 || rank == 61; });
    const auto network = with_slow(slow);

    const auto order = lmo_order(shape_of(64, 0, network), Direction::from_root);

    EXPECT_THAT(subtrees_of(order, fast), Each(Ge(16)));
}

TEST(RankOrderTest, PutsEveryRankAtOneNode) {
    const auto network = with_slow({1, 5, 6});
    for (int ranks = 1; ranks <= 40; ++ranks) {
        for (int root = 0; root < ranks; ++root) {
            auto order = lmo_order(shape_of(ranks, root, network), Direction::to_root).rank_of_node;
            ASSERT_EQ(order[0], root);
            std::sort(order.begin(), order.end());
            for (int rank = 0; rank < ranks; ++rank) {
                ASSERT_EQ(order[static_cast<std::size_t>(rank)], rank);
            }
        }
    }
}

}  // namespace
}  // namespace lanewise::collectives
