// SPDX-License-Identifier: BSD-3-Clause
//
// A platform of two sites, priced and put into the cost model of two sites.

#include "model/platform/lane_network.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "model/simulation/price.hpp"

namespace lanewise::model {
namespace {

constexpr double lane_Bps = 25e6;
constexpr double lan_Bps = 1e9;
constexpr double delay_s = 0.005;

/* Two hosts a site; a second lane adds nothing. */
Platform two_site_platform() {
    Platform platform;
    platform.ranks = 4;
    platform.hosts = {"a1", "a2", "b1", "b2"};
    platform.sites = {"a", "a", "b", "b"};
    platform.lanes = {{"a", "b", delay_s, {lane_Bps, lane_Bps}},
                      {"b", "a", delay_s, {lane_Bps, lane_Bps}}};
    platform.lans = {{"a", 0.0, lan_Bps}, {"b", 0.0, lan_Bps}};
    platform.best = "lanes";
    return platform;
}

double one_message_s(const Network& network, int from, int to, std::int64_t bytes) {
    const auto schedule_of = [&](int rank) {
        Builder steps;
        if (rank == from) steps.send(to, {Place::send, 0}, bytes);
        if (rank == to) steps.receive(from, {Place::receive, 0}, bytes);
        return steps.finish();
    };
    return price(network, 4, schedule_of, 1).total_s;
}

TEST(LaneNetwork, TakesLatencyAndOneLaneBetweenSites) {
    const auto network = lane_network(two_site_platform(), 4);

    ASSERT_TRUE(network);
    EXPECT_NEAR(one_message_s(*network, 0, 2, 25'000'000), delay_s + 1.0, 1e-9);
}

TEST(LaneNetwork, TakesTheLanInsideASite) {
    const auto network = lane_network(two_site_platform(), 4);

    ASSERT_TRUE(network);
    EXPECT_NEAR(one_message_s(*network, 0, 1, 1'000'000), 0.001, 1e-9);
}

TEST(LaneNetwork, SharesWhatLanesCarryTogether) {
    const auto network = lane_network(two_site_platform(), 4);
    ASSERT_TRUE(network);
    const auto schedule_of = [&](int rank) {
        Builder steps;
        if (rank < 2) steps.send(rank + 2, {Place::send, 0}, 25'000'000);
        if (rank >= 2) steps.receive(rank - 2, {Place::receive, 0}, 25'000'000);
        return steps.finish();
    };

    EXPECT_NEAR(price(*network, 4, schedule_of, 1).total_s, delay_s + 2.0, 1e-6);
}

TEST(LaneNetwork, DoesNotHoldUpTheLanWithWhatGoesToAnotherSite) {
    const auto network = lane_network(two_site_platform(), 4);
    ASSERT_TRUE(network);
    const auto schedule_of = [&](int rank) {
        Builder steps;
        if (rank == 0) steps.send(2, {Place::send, 0}, 25'000'000);
        if (rank == 0) steps.send(1, {Place::send, 0}, 1'000'000);
        if (rank == 1 || rank == 2)
            steps.receive(0, {Place::receive, 0}, rank == 1 ? 1'000'000 : 25'000'000);
        return steps.finish();
    };

    EXPECT_NEAR(price(*network, 4, schedule_of, 1).rank_s[1], 0.001, 1e-9);
}

/* Two hosts a site, and a connection has a quarter of what a host carries, by one interface. */
Platform platform_of_slow_connections(double with_lan_Bps) {
    auto platform = two_site_platform();
    platform.lans = {{"a", 0.0, 4 * lane_Bps}, {"b", 0.0, 4 * lane_Bps}};
    for (auto& curve : platform.lanes) {
        curve.bandwidth_Bps = {lane_Bps, 2 * lane_Bps, 3 * lane_Bps, 4 * lane_Bps};
        curve.one_host = {2 * lane_Bps, with_lan_Bps, 2 * lane_Bps, with_lan_Bps};
    }
    return platform;
}

/* When rank 0 has sent to each of `receivers`, all at once. */
double fan_s(const Network& network, const std::vector<int>& receivers, std::int64_t bytes) {
    const auto schedule_of = [&](int rank) {
        Builder steps;
        for (const int receiver : receivers) {
            if (rank == 0) steps.send(receiver, {Place::send, 0}, bytes);
            if (rank == receiver) steps.receive(0, {Place::receive, 0}, bytes);
        }
        return steps.finish();
    };
    return price(network, 4, schedule_of, 1).total_s;
}

TEST(LaneNetwork, GivesAHostSeveralConnectionsAtOnce) {
    const auto network = lane_network(platform_of_slow_connections(6 * lane_Bps), 4);
    ASSERT_TRUE(network);

    EXPECT_NEAR(fan_s(*network, {2}, 25'000'000), delay_s + 1.0, 1e-9);
    EXPECT_NEAR(fan_s(*network, {2, 3}, 25'000'000), delay_s + 1.0, 1e-9);
    // A connection carries one message after the other.
    EXPECT_NEAR(fan_s(*network, {2, 2}, 25'000'000), delay_s + 2.0, 1e-9);
}

TEST(LaneNetwork, SharesAnInterfaceWhereTheLanTakesFromWhatGoesToOtherSites) {
    const auto apart = lane_network(platform_of_slow_connections(6 * lane_Bps), 4);
    const auto shared = lane_network(platform_of_slow_connections(4 * lane_Bps), 4);
    ASSERT_TRUE(apart);
    ASSERT_TRUE(shared);

    // 50 MB go to the other site at 50 MB/s, and 100 MB over a LAN of 100 MB/s.
    const std::vector<int> receivers = {1, 1, 1, 1, 2, 3};
    EXPECT_NEAR(fan_s(*apart, receivers, 25'000'000), delay_s + 1.0, 1e-9);
    EXPECT_NEAR(fan_s(*shared, receivers, 25'000'000), delay_s + 1.5, 0.01);
}

TEST(LaneNetwork, IsRefusedWhereACurveIsMissing) {
    auto platform = two_site_platform();
    platform.lanes.pop_back();

    EXPECT_FALSE(knows_lanes(platform));
    EXPECT_FALSE(lane_network(platform, 4));
}

TEST(LaneNetwork, IsNamedWhereAPlatformLacksTheModelThatIsAskedFor) {
    const auto lmo = network(two_site_platform(), "lmo", 4);

    ASSERT_FALSE(lmo);
    EXPECT_EQ(lmo.failure().sentence, "the platform has no model \"lmo\"; it has lanes");
}

TEST(LaneNetwork, GivesThePapersModelWhatEachLaneCarries) {
    const auto sites = two_sites(two_site_platform(), 4, 0, Crossing::from_root);

    ASSERT_TRUE(sites);
    EXPECT_DOUBLE_EQ(sites->lane_Bps(1), lane_Bps);
    EXPECT_DOUBLE_EQ(sites->lane_Bps(2), lane_Bps / 2);
    EXPECT_EQ(sites->root_site_ranks, 2);
}

TEST(LaneNetwork, GivesThePapersModelNoMoreThanTheCurveHolds) {
    auto platform = two_site_platform();
    for (auto& curve : platform.lanes) curve.bandwidth_Bps = {lane_Bps};

    const auto sites = two_sites(platform, 4, 0, Crossing::from_root);

    ASSERT_TRUE(sites);
    EXPECT_DOUBLE_EQ(sites->lane_Bps(1), lane_Bps);
    EXPECT_DOUBLE_EQ(sites->lane_Bps(2), lane_Bps / 2) << "two lanes carry what one does";
}

TEST(LaneNetwork, GivesThePapersModelNoRanksButThoseThatAreAskedAbout) {
    const auto three = two_sites(two_site_platform(), 3, 2, Crossing::from_root);

    ASSERT_TRUE(three);
    EXPECT_EQ(three->root_site_ranks, 1);
    EXPECT_EQ(three->other_site_ranks, 2);
    EXPECT_FALSE(two_sites(two_site_platform(), 2, 0, Crossing::from_root));
}

TEST(LaneNetwork, GivesThePapersModelWhatLanesCarryTheWayThatDataCrosses) {
    auto platform = two_site_platform();
    platform.lanes[1].latency_s = 2 * delay_s;
    platform.lanes[1].bandwidth_Bps = {lane_Bps / 5};

    const auto scatters = two_sites(platform, 4, 0, Crossing::from_root);
    const auto gathers = two_sites(platform, 4, 0, Crossing::to_root);

    ASSERT_TRUE(scatters);
    ASSERT_TRUE(gathers);
    EXPECT_DOUBLE_EQ(scatters->lane_Bps(1), lane_Bps);
    EXPECT_DOUBLE_EQ(gathers->lane_Bps(1), lane_Bps / 5);
    EXPECT_DOUBLE_EQ(gathers->wan_latency_s, 2 * delay_s);
}

TEST(LaneNetwork, IsKeptInPlatformJson) {
    auto platform = two_site_platform();
    platform.lanes[1].one_host = {1e6, 2e6, 3e6, 4e6};

    const auto read = platform_from_json(to_json(platform), "platform.json");

    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_EQ(read->sites, two_site_platform().sites);
    EXPECT_DOUBLE_EQ(read->lanes[0].one_host.sends_Bps, 0.0);
    EXPECT_DOUBLE_EQ(read->lanes[1].one_host.sends_with_lan_Bps, 2e6);
    EXPECT_DOUBLE_EQ(read->lanes[1].one_host.receives_Bps, 3e6);
    EXPECT_DOUBLE_EQ(read->lanes[1].one_host.receives_with_lan_Bps, 4e6);
    EXPECT_DOUBLE_EQ(read->lanes[0].latency_s, delay_s);
    EXPECT_DOUBLE_EQ(read->lans[1].bandwidth_Bps, lan_Bps);
}

}  // namespace
}  // namespace lanewise::model
