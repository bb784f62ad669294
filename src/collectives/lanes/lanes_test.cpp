// SPDX-License-Identifier: BSD-3-Clause
//
// Sites, shares and the plan of lanes, on placements written out.

#include <gtest/gtest.h>

#include <numeric>

#include "collectives/algorithm.hpp"
#include "collectives/lanes/plan.hpp"
#include "collectives/lanes/shares.hpp"
#include "collectives/lanes/sites.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::int64_t block = 1200;

// Two sites of four ranks, two ranks a host.
struct TwoSites {
    std::vector<int> sites = {0, 0, 0, 0, 1, 1, 1, 1};
    std::vector<int> hosts = {0, 0, 1, 1, 2, 2, 3, 3};

    CallShape shape(int root, int lanes) const {
        return {.ranks = 8,
                .rank = root,
                .root = root,
                .count = block,
                .lanes = lanes,
                .hosts = hosts,
                .sites = sites};
    }
};

std::int64_t carried(const Lane& lane) {
    std::int64_t units = 0;
    for (const auto& part : lane.parts) units += part.count;
    return units;
}

TEST(Sites, PutDistinctHostsFirstAndTheRootBeforeAll) {
    const TwoSites two;

    const auto sites = sites_of(two.shape(3, 1));

    EXPECT_EQ(sites[0].ranks, (std::vector<int>{3, 0, 1, 2}));
    EXPECT_EQ(sites[1].ranks, (std::vector<int>{4, 6, 5, 7}));
}

TEST(Shares, OfEqualLanesDifferByOneUnitAtMost) {
    const std::vector<LaneRate> lanes(3);

    EXPECT_EQ(shares_of(lanes, 10), (std::vector<std::int64_t>{3, 4, 3}));
}

TEST(Shares, LetLanesEndTogether) {
    const std::vector<LaneRate> lanes = {{0.0, 1.0}, {10.0, 0.5}};

    const auto shares = shares_of(lanes, 100);

    EXPECT_EQ(shares, (std::vector<std::int64_t>{40, 60}));
}

TEST(Shares, LeaveOutALaneThatWouldBeginTooLate) {
    const std::vector<LaneRate> lanes = {{0.0, 1.0}, {50.0, 0.001}};

    EXPECT_EQ(shares_of(lanes, 40), (std::vector<std::int64_t>{40, 0}));
}

TEST(LanePlan, BeginsWithTheRootAndUsesDistinctHosts) {
    const TwoSites two;

    const auto lanes = lanes_of(two.shape(1, 2), Dealing::by_bytes);

    ASSERT_EQ(lanes.size(), 2U);
    EXPECT_EQ(lanes[0].sender, 1);
    EXPECT_EQ(lanes[1].sender, 2);
    EXPECT_EQ(lanes[0].receiver, 4);
    EXPECT_EQ(lanes[1].receiver, 6);
}

TEST(LanePlan, CarriesEqualBytesOnThreeLanesForFourBlocks) {
    const TwoSites two;

    const auto lanes = lanes_of(two.shape(0, 3), Dealing::by_bytes);

    for (const auto& lane : lanes) EXPECT_EQ(carried(lane), 4 * block / 3);
}

TEST(LanePlan, CarriesWholeBlocksInThePapersForm) {
    const TwoSites two;

    const auto lanes = lanes_of(two.shape(0, 3), Dealing::by_blocks);

    EXPECT_EQ(carried(lanes[0]), 2 * block);
    EXPECT_EQ(carried(lanes[1]), block);
    EXPECT_EQ(carried(lanes[2]), block);
}

TEST(LanePlan, LetsAReceiversOwnBlockCrossOnItsOwnLane) {
    const TwoSites two;

    for (const auto& lane : lanes_of(two.shape(0, 4), Dealing::by_bytes)) {
        ASSERT_EQ(lane.parts.size(), 1U);
        EXPECT_EQ(lane.parts[0].owner, lane.receiver);
    }
}

TEST(LanePlan, HasNoMoreLanesThanPairsOfRanks) {
    const TwoSites two;

    EXPECT_EQ(lanes_of(two.shape(0, 100), Dealing::by_bytes).size(), 4U);
    EXPECT_EQ(lanes_max(two.shape(0, 1)), 4);
}

TEST(LanePlan, GivesALaneOfNoKnownRateAsMuchAsTheFastestOther) {
    const TwoSites two;
    model::Network network;
    network.cost = [](int from, int, std::int64_t bytes) {
        return model::MessageCost{.egress_s = from == 0 ? 0.0 : 1e-8 * static_cast<double>(bytes)};
    };
    auto shape = two.shape(0, 4);
    shape.network = &network;

    for (const auto& lane : lanes_of(shape, Dealing::by_bytes)) EXPECT_EQ(carried(lane), block);
}

TEST(LanePlan, GivesASlowLaneLess) {
    const TwoSites two;
    model::Network network;
    network.cost = [](int from, int, std::int64_t bytes) {
        const double s_per_byte = from == 0 ? 3e-9 : 1e-9;
        return model::MessageCost{.egress_s = s_per_byte * static_cast<double>(bytes)};
    };
    auto shape = two.shape(0, 2);
    shape.network = &network;

    const auto lanes = lanes_of(shape, Dealing::by_bytes);

    EXPECT_EQ(carried(lanes[0]), block);
    EXPECT_EQ(carried(lanes[1]), 3 * block);
}

// Both lanes end together: the first carries less by what it takes to begin.
TEST(LanePlan, GivesLessToALaneThatBeginsLater) {
    const TwoSites two;
    const double later_s = 2e-9 * static_cast<double>(block);
    model::Network network;
    network.cost = [&](int from, int, std::int64_t bytes) {
        return model::MessageCost{.egress_s = 1e-9 * static_cast<double>(bytes),
                                  .latency_s = from == 0 ? later_s : 0.0};
    };
    auto shape = two.shape(0, 2);
    shape.network = &network;

    const auto lanes = lanes_of(shape, Dealing::by_bytes);

    EXPECT_NEAR(static_cast<double>(carried(lanes[0])), 1.0 * block, 1.0);
    EXPECT_NEAR(static_cast<double>(carried(lanes[1])), 3.0 * block, 1.0);
}

// What crosses from the root itself need not wait until other senders have their parts.
TEST(ScatterOverLanes, LetsTheRootsOwnLaneBeginAtOnce) {
    const TwoSites two;
    auto shape = two.shape(0, 2);
    shape.segment = 100;

    const auto schedule = find_algorithm(Collective::scatter, "multilane")->build(shape);

    bool inside = false;
    for (const auto& step : schedule.steps) {
        if (step.kind != model::StepKind::send) continue;
        const bool crosses = two.sites[static_cast<std::size_t>(step.peer)] != two.sites[0];
        EXPECT_FALSE(crosses && inside) << "to rank " << step.peer;
        inside = inside || !crosses;
    }
}

TEST(LanePlan, ServesTheSiteWithMostDataFirst) {
    const std::vector<int> sites = {0, 1, 2, 2, 2, 1};
    const CallShape shape{.ranks = 6, .count = block, .lanes = 2, .sites = sites};

    const auto lanes = lanes_of(shape, Dealing::by_bytes);

    ASSERT_EQ(lanes.size(), 4U);
    EXPECT_EQ(lanes[0].receiver, 2);
    EXPECT_EQ(lanes[2].receiver, 1);
}

}  // namespace
}  // namespace lanewise::collectives
