// SPDX-License-Identifier: BSD-3-Clause
//
// The formulas of Chiba, Endo and Matsuoka (2008) against each other, against the statements of
// their paper, and against the price of the schedule that they describe.

#include "model/lanes/lane_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/simulation/price.hpp"

namespace lanewise::model {
namespace {

constexpr std::int64_t block_bytes = 1000;

TwoSites sites_of(int root_site_ranks, int other_site_ranks) {
    return {.root_site_ranks = root_site_ranks,
            .other_site_ranks = other_site_ranks,
            .wan_latency_s = 0.005,
            .lane_bandwidth_Bps = {1e6},
            .lan_bandwidth_Bps = 8e6};
}

/* The P for which T(P) is least; of equals the fewest lanes. */
int best_lanes(const TwoSites& sites, std::int64_t bytes) {
    int best = 1;
    for (int lanes = 2; lanes <= sites.lanes_max(); ++lanes) {
        if (scatter_s(sites, lanes, bytes) < scatter_s(sites, best, bytes)) best = lanes;
    }
    return best;
}

/* Seconds of `blocks` blocks inside a site, and on one of `lanes`. */
double lan_s(const TwoSites& sites, double blocks) {
    return blocks * block_bytes / sites.lan_bandwidth_Bps;
}
double lane_s(const TwoSites& sites, int lanes, double blocks) {
    return blocks * block_bytes / sites.lane_Bps(lanes);
}

/* Section 3.2, the usual scatter over sites, without latency in the LAN. */
double usual_scatter_s(const TwoSites& sites) {
    const int longer = std::max(sites.root_site_ranks, sites.other_site_ranks);
    return sites.wan_latency_s + lane_s(sites, 1, sites.other_site_ranks) +
           lan_s(sites, longer - 1);
}

/* Table 1: to prepare, to cross and to forward. */
double single_lane_s(const TwoSites& sites) {
    const double n1 = sites.other_site_ranks;
    return sites.wan_latency_s + lane_s(sites, 1, n1) + sites.overhead_s + lan_s(sites, n1 - 1);
}
double multilane_s(const TwoSites& sites, int lanes) {
    const double n1 = sites.other_site_ranks;
    const double prepare_s = sites.overhead_s + lan_s(sites, n1 + lanes - 1);
    const double wan_s = sites.wan_latency_s + lane_s(sites, lanes, n1 / lanes);
    return prepare_s + wan_s + sites.overhead_s + lan_s(sites, n1 / lanes);
}

TEST(LaneCost, OneLaneTakesWhatTheUsualScatterTakes) {
    for (int n0 = 1; n0 < 20; ++n0) {
        for (int n1 = 1; n1 < 20; ++n1) {
            const auto sites = sites_of(n0, n1);

            EXPECT_NEAR(scatter_s(sites, 1, block_bytes), usual_scatter_s(sites), 1e-12);
        }
    }
}

TEST(LaneCost, TableOneSaysTheSameOfOneLaneToALargerSite) {
    for (int n1 = 2; n1 < 20; ++n1) {
        const auto sites = sites_of(n1 - 1, n1);

        EXPECT_NEAR(single_lane_s(sites), scatter_s(sites, 1, block_bytes), 1e-12);
    }
}

TEST(LaneCost, TableOneIsNeverFasterThanTheSumOfItsSteps) {
    for (int n1 = 2; n1 < 20; ++n1) {
        const auto sites = sites_of(n1 - 1, n1);
        for (int lanes = 1; lanes <= sites.lanes_max(); ++lanes) {
            if (n1 % lanes != 0) continue;

            EXPECT_GE(multilane_s(sites, lanes) + 1e-12, scatter_s(sites, lanes, block_bytes));
        }
    }
}

TEST(LaneCost, EveryBlockOfTheOtherSiteCrosses) {
    for (int n1 = 1; n1 < 30; ++n1) {
        const auto sites = sites_of(30, n1);
        for (int lanes = 1; lanes <= sites.lanes_max(); ++lanes) {
            EXPECT_GE(blocks_across(sites, lanes) * lanes, n1);
            EXPECT_LT((blocks_across(sites, lanes) - 1) * lanes, n1);
        }
    }
}

TEST(LaneCost, LanesDoNotPayWhereTheyShareOneLanesBandwidth) {
    auto sites = sites_of(32, 32);
    sites.lane_bandwidth_Bps.clear();
    for (int lanes = 1; lanes <= 32; ++lanes) sites.lane_bandwidth_Bps.push_back(1e6 / lanes);

    EXPECT_EQ(best_lanes(sites, block_bytes), 1);
}

TEST(LaneCost, ThePapersTwoTimesThirtyTwoRanksWantAllLanes) {
    auto sites = sites_of(32, 32);  // figure 9: 250 Mb/s a lane, 1 Gb/s in the site, 5 ms
    sites.lane_bandwidth_Bps = {250e6 / 8};
    sites.lan_bandwidth_Bps = 1e9 / 8;

    EXPECT_EQ(best_lanes(sites, 4 << 20), 32);
}

/* The three steps of section 4.1; ranks of the root's site come first, the root is 0. */
class ThreeSteps {
  public:
    ThreeSteps(const TwoSites& sites, int lanes)
        : sites_(sites), lanes_(lanes), across_(blocks_across(sites, lanes)) {}

    Schedule of(int rank) const {
        Builder steps;
        const bool here = rank < sites_.root_site_ranks;
        if (rank == 0) {
            root(steps);
        } else if (here && rank < lanes_) {
            const auto filled = steps.receive(0, {}, across_ + 1);
            steps.send(sites_.root_site_ranks + rank, {}, across_, {filled});
        } else if (here) {
            steps.receive(0, {}, 1);
        } else if (rank - sites_.root_site_ranks < lanes_) {
            hand_on(steps, rank - sites_.root_site_ranks);
        } else {
            steps.receive(sites_.root_site_ranks + rank % lanes_, {}, 1);
        }
        return steps.finish();
    }

    Network network() const {
        Network network;
        network.ranks = sites_.root_site_ranks + sites_.other_site_ranks;
        network.cost = [sites = sites_, lanes = lanes_](int from, int to, std::int64_t bytes) {
            const bool crosses = (from < sites.root_site_ranks) != (to < sites.root_site_ranks);
            const auto size = static_cast<double>(bytes);
            if (!crosses) return MessageCost{.send_s = size / sites.lan_bandwidth_Bps};
            return MessageCost{.send_s = size / sites.lane_Bps(lanes),
                               .latency_s = sites.wan_latency_s};
        };
        return network;
    }

  private:
    void root(Builder& steps) const {
        StepId last = no_step;
        for (int lane = 1; lane < lanes_; ++lane) last = steps.send(lane, {}, across_ + 1, {last});
        last = steps.send(sites_.root_site_ranks, {}, across_, {last});
        for (int rank = lanes_; rank < sites_.root_site_ranks; ++rank) {
            last = steps.send(rank, {}, 1, {last});
        }
    }

    void hand_on(Builder& steps, int lane) const {
        StepId last = steps.receive(lane, {}, across_);
        for (int rank = sites_.root_site_ranks + lanes_; rank < network_ranks(); ++rank) {
            if (rank % lanes_ == lane) {
                last = steps.send(rank, {}, 1, {last});
            }
        }
    }

    int network_ranks() const { return sites_.root_site_ranks + sites_.other_site_ranks; }

    TwoSites sites_;
    int lanes_;
    std::int64_t across_;
};

TEST(LaneCost, IsThePriceOfItsScheduleWhereTheOtherSiteIsLarger) {
    for (const int lanes : {1, 2, 3, 4, 6}) {
        const auto sites = sites_of(6, 24);
        const ThreeSteps steps(sites, lanes);

        const auto priced = price(
            steps.network(), 30, [&](int rank) { return steps.of(rank); }, block_bytes);

        ASSERT_TRUE(priced.finished) << priced.waiting;
        EXPECT_NEAR(priced.total_s, scatter_s(sites, lanes, block_bytes), 1e-9) << lanes;
    }
}

TEST(LaneCost, IsThePriceOfItsScheduleButForTheRootsLatencyWhereTheRootsSiteIsLarger) {
    for (const int lanes : {1, 2, 3, 4, 6}) {
        const auto sites = sites_of(48, 6 * 4);
        const ThreeSteps steps(sites, lanes);

        const auto priced = price(
            steps.network(), 72, [&](int rank) { return steps.of(rank); }, block_bytes);

        ASSERT_TRUE(priced.finished) << priced.waiting;
        const double predicted_s = scatter_s(sites, lanes, block_bytes);
        EXPECT_LE(priced.total_s, predicted_s + 1e-9) << lanes;
        EXPECT_GE(priced.total_s, predicted_s - sites.wan_latency_s - 1e-9) << lanes;
    }
}

}  // namespace
}  // namespace lanewise::model
