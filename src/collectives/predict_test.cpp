// SPDX-License-Identifier: BSD-3-Clause
//
// The papers' closed formulas against the price of the schedules that run: equal
// where a formula is exact, on the side it must be on where it is a bound.

#include "collectives/predict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/models/hockney.hpp"
#include "model/models/lmo.hpp"
#include "model/models/loggp.hpp"
#include "model/models/plogp.hpp"
#include "model/platform/lane_network.hpp"

namespace lanewise::collectives {
namespace {

using model::Network;
using model::Parameter;
using ::testing::HasSubstr;

constexpr std::int64_t block_bytes = 1000;
const std::vector<int> powers_of_two = {2, 4, 8, 16, 32};

double predicted_s(Collective collective, const char *algorithm, const Network& network,
                   std::int64_t message_bytes = block_bytes) {
    const auto priced = predict(*find_algorithm(collective, algorithm),
                                {.collective = collective,
                                 .ranks = network.ranks,
                                 .message_bytes = static_cast<std::uint64_t>(message_bytes)},
                                network);
    return priced ? priced->total_s : -1.0;
}

double scatter_s(const char *algorithm, const Network& network) {
    return predicted_s(Collective::scatter, algorithm, network);
}

model::Hockney hockney_model() {
    model::Hockney model{model::Links<model::HockneyLink>(2)};
    model.links.at(0, 1) = {Parameter(3e-5), Parameter(2e-9)};
    return model;
}

/* What `lanewise measure lanes` found on the testbed two-site. */
model::Platform two_sites_measured() {
    model::Platform platform;
    platform.ranks = 8;
    for (int rank = 0; rank < 8; ++rank) {
        platform.hosts.push_back("h" + std::to_string(rank));
        platform.sites.emplace_back(rank < 4 ? "a" : "b");
    }
    platform.lanes = {{"a", "b", 5.42e-3, {26.5e6, 57.4e6, 80.8e6, 104.2e6}},
                      {"b", "a", 6.00e-3, {26.7e6, 55.1e6, 83.4e6, 111.7e6}}};
    platform.lans = {{"a", 550e-6, 764.7e6}, {"b", 1.93e-3, 533.7e6}};
    return platform;
}

Result<model::Priced> over_lanes(Collective collective, const char *algorithm, int ranks,
                                 int lanes) {
    const auto platform = two_sites_measured();
    const auto network = model::lane_network(platform, ranks);
    const auto places = places_of(platform, ranks);
    return predict(*find_algorithm(collective, algorithm),
                   {.collective = collective,
                    .ranks = ranks,
                    .message_bytes = 16 << 20,
                    .lanes = lanes,
                    .hosts = places.hosts,
                    .sites = places.sites},
                   *network);
}

double over_lanes_s(Collective collective, const char *algorithm, int lanes) {
    const auto priced = over_lanes(collective, algorithm, two_sites_measured().ranks, lanes);
    return priced ? priced->total_s : -1.0;
}

/* Processors and links that differ by up to `spread` from one another. */
model::Lmo lmo_model(int ranks, double spread) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> some(1.0, 1.0 + spread);
    model::Lmo model{.processors = {}, .links = model::Links<model::LmoLink>(ranks)};
    for (int rank = 0; rank < ranks; ++rank) {
        model.processors.push_back(
            {Parameter(2e-6 * some(random)), Parameter(1e-9 * some(random))});
    }
    for (int i = 0; i < ranks; ++i) {
        for (int j = 0; j < i; ++j) {
            model.links.at(i, j) = {Parameter(1e-5 * some(random)), Parameter(8e-9 * some(random))};
        }
    }
    return model;
}

/* The same with a fit of pairs, each by itself. */
model::Platform fitted_and_measured(double lane_Bps) {
    auto platform = two_sites_measured();
    model::Hockney fit{model::Links<model::HockneyLink>(8)};
    fit.links.each([&](int i, int j, model::HockneyLink& link) {
        const bool crosses = (i < 4) != (j < 4);
        link = {Parameter(1e-3), Parameter(1.0 / (crosses ? lane_Bps : 800e6))};
    });
    platform.hockney = fit;
    platform.best = "hockney";
    return platform;
}

TEST(Predict, PricesAlgorithmsBetweenSitesOnTheLaneCurvesAndTheOthersOnTheBestModel) {
    constexpr double lane_Bps = 26.5e6;
    auto platform = fitted_and_measured(lane_Bps);
    for (auto& curve : platform.lanes) curve.bandwidth_Bps = {lane_Bps}; /* the line is full */
    const auto places = places_of(platform, 8);

    const auto networks = networks_of(platform, 8);
    ASSERT_TRUE(networks);
    const auto lanes_s = [&](int lanes) {
        const auto& multilane = *find_algorithm(Collective::scatter, "multilane");
        return predict(multilane,
                       {.collective = Collective::scatter,
                        .ranks = 8,
                        .message_bytes = 4 << 20,
                        .lanes = lanes,
                        .hosts = places.hosts,
                        .sites = places.sites},
                       networks->of(multilane))
            ->total_s;
    };

    EXPECT_GT(lanes_s(4), 0.95 * lanes_s(1)) << "four lanes carry no more than one";
    EXPECT_EQ(&networks->of(*find_algorithm(Collective::scatter, "linear")), networks->best.get());
    platform.lanes.clear();
    EXPECT_EQ(networks_of(platform, 8)->lanes, nullptr);
}

TEST(Predict, HockneysLinearAndBinomialScatterAreTheirFormulas) {
    const auto model = hockney_model();
    const auto link = mean_link(model);
    for (const int ranks : powers_of_two) {
        const auto net = network(model, ranks);

        EXPECT_NEAR(scatter_s("linear", net),
                    model::hockney::linear_scatter_s(link, ranks, block_bytes), 1e-12);
        EXPECT_NEAR(scatter_s("binomial", net),
                    model::hockney::binomial_scatter_s(link, ranks, block_bytes), 1e-12);
    }
}

TEST(Predict, HockneysBroadcastsAreTheirFormulas) {
    const auto model = hockney_model();
    const auto link = mean_link(model);
    for (const int ranks : powers_of_two) {
        const auto net = network(model, ranks);
        const auto bcast_s = [&](const char *name) {
            return predicted_s(Collective::bcast, name, net);
        };

        EXPECT_NEAR(bcast_s("linear"), model::hockney::linear_bcast_s(link, ranks, block_bytes),
                    1e-12);
        EXPECT_NEAR(bcast_s("binomial"), model::hockney::binomial_bcast_s(link, ranks, block_bytes),
                    1e-12);
        EXPECT_NEAR(bcast_s("chain"), model::hockney::chain_bcast_s(link, ranks, block_bytes),
                    1e-12);
    }
}

TEST(Predict, ChainBroadcastIsItsFormulaOnUnlikeHosts) {
    for (const int ranks : {2, 3, 8, 17}) {
        const auto model = lmo_model(ranks, 3.0);

        EXPECT_NEAR(predicted_s(Collective::bcast, "chain", network(model, ranks, {})),
                    model::lmo::chain_bcast_s(model, 0, block_bytes), 1e-12);
    }
}

/* Thakur, Rabenseifner and Gropp, 2005: n ranks, blocks of M bytes, a + bM a message. */
TEST(Predict, ExchangesInRoundsAreTheirFormulas) {
    const auto model = hockney_model();
    const double a = mean_link(model).latency_s.value;
    const double b_block = mean_link(model).s_per_byte.value * block_bytes;
    for (const int ranks : powers_of_two) {
        const auto net = network(model, ranks);
        const double levels = std::log2(ranks);
        const double others = ranks - 1;

        EXPECT_NEAR(predicted_s(Collective::allgather, "ring", net), others * (a + b_block), 1e-12);
        EXPECT_NEAR(predicted_s(Collective::allgather, "recursive_doubling", net),
                    levels * a + others * b_block, 1e-12);
        EXPECT_NEAR(predicted_s(Collective::allgather, "bruck", net), levels * a + others * b_block,
                    1e-12);
        EXPECT_NEAR(predicted_s(Collective::alltoall, "pairwise", net), others * (a + b_block),
                    1e-12);
        EXPECT_NEAR(predicted_s(Collective::alltoall, "bruck", net),
                    levels * (a + b_block * ranks / 2), 1e-12);
        EXPECT_NEAR(predicted_s(Collective::barrier, "dissemination", net), levels * a, 1e-12);
    }
}

TEST(Predict, LogGPsLinearAndBinomialScatterAreTheirFormulas) {
    const model::LogGP model{.latency_s = Parameter(2e-5),
                             .overhead_s = Parameter(2e-6),
                             .gap_s = Parameter(4e-6),
                             .gap_s_per_byte = Parameter(1e-9)};
    for (const int ranks : powers_of_two) {
        const auto net = network(model, ranks);

        EXPECT_NEAR(scatter_s("linear", net),
                    model::loggp::linear_scatter_s(model, ranks, block_bytes), 1e-12);
        EXPECT_NEAR(scatter_s("binomial", net),
                    model::loggp::binomial_scatter_s(model, ranks, block_bytes), 1e-12);
    }
}

TEST(Predict, PLogPsLinearAndBinomialScatterAreTheirFormulas) {
    const auto size = [](std::int64_t bytes, double gap_s) {
        return model::PLogPSize{bytes, Parameter(1e-6), Parameter(2e-6), Parameter(gap_s)};
    };
    const model::PLogP model{.latency_s = Parameter(2e-5),
                             .sizes = {size(0, 4e-6), size(1000, 5e-6)}};
    for (const int ranks : powers_of_two) {
        const auto net = network(model, ranks);

        EXPECT_NEAR(scatter_s("linear", net),
                    model::plogp::linear_scatter_s(model, ranks, block_bytes), 1e-12);
        EXPECT_NEAR(scatter_s("binomial", net),
                    model::plogp::binomial_scatter_s(model, ranks, block_bytes), 1e-12);
    }
}

TEST(Predict, LmosLinearScatterIsItsFormulaOnAlikeHosts) {
    for (const int ranks : {2, 3, 8, 17}) {
        const auto model = lmo_model(ranks, 0.0);

        EXPECT_NEAR(scatter_s("linear", network(model, ranks, {})),
                    model::lmo::linear_scatter_s(model, 0, block_bytes), 1e-12);
    }
}

TEST(Predict, LmosFormulaOfLinearScatterIsABoundOnUnlikeHosts) {
    for (const int ranks : {3, 8, 17}) {
        const auto model = lmo_model(ranks, 3.0);

        const double predicted_s = scatter_s("linear", network(model, ranks, {}));

        EXPECT_LE(predicted_s, model::lmo::linear_scatter_s(model, 0, block_bytes) + 1e-12);
        EXPECT_GT(predicted_s, 0.0);
    }
}

TEST(Predict, LmosBinomialScatterIsItsFormulaOnUnlikeHosts) {
    for (const int ranks : {2, 3, 7, 8, 17, 32}) {
        const auto model = lmo_model(ranks, 3.0);

        EXPECT_NEAR(scatter_s("binomial", network(model, ranks, {})),
                    model::lmo::binomial_scatter_s(model, 0, block_bytes), 1e-12);
    }
}

TEST(Predict, OneRankSendsNothing) {
    const auto net = network(hockney_model(), 1);
    for (const auto *algorithm : algorithms()) {
        if (!refusal(*algorithm, {.ranks = 1, .platform = true}).empty()) continue;

        EXPECT_EQ(predicted_s(algorithm->collective, algorithm->name, net), 0.0)
            << name_of(algorithm->collective) << " " << algorithm->name;
    }
}

TEST(Predict, EveryAlgorithmHasAPriceOrSaysWhyNot) {
    for (const int ranks : {2, 3, 6, 8}) {
        const auto net = network(lmo_model(ranks, 1.0), ranks, {});
        for (const auto *algorithm : algorithms()) {
            const auto priced = predict(*algorithm,
                                        {.collective = algorithm->collective,
                                         .ranks = ranks,
                                         .root = ranks - 1,
                                         .message_bytes = 4096},
                                        net);

            if (priced) {
                EXPECT_GT(priced->total_s, 0.0) << algorithm->name;
            } else {
                EXPECT_THAT(priced.failure().sentence, HasSubstr("rank")) << algorithm->name;
            }
        }
    }
}

TEST(Predict, ASlowerNetworkIsNeverToldToBeFaster) {
    const auto model = lmo_model(8, 0.0);
    auto slower = model;
    for (auto& processor : slower.processors) processor.s_per_byte = Parameter(5e-9);
    for (const auto *algorithm : algorithms()) {
        const auto fast_s =
            predicted_s(algorithm->collective, algorithm->name, network(model, 8, {}));
        const auto slow_s =
            predicted_s(algorithm->collective, algorithm->name, network(slower, 8, {}));

        EXPECT_GE(slow_s, fast_s) << name_of(algorithm->collective) << " " << algorithm->name;
    }
}

TEST(Predict, ASegmentOfAllThatCanBeCountedIsTheWholeMessage) {
    constexpr std::uint64_t largest = INT64_MAX;
    const auto net = network(lmo_model(8, 1.0), 8, {});
    int priced_ones = 0;
    for (const auto *algorithm : algorithms()) {
        PricedCall call{.collective = algorithm->collective, .ranks = 8, .message_bytes = 1 << 20};
        call.segment_bytes = call.message_bytes;
        const auto whole = predict(*algorithm, call, net);
        call.segment_bytes = largest;
        const auto priced = predict(*algorithm, call, net);

        ASSERT_EQ(bool(priced), bool(whole)) << algorithm->name;
        if (!priced || !algorithm->needs.segmented) continue;
        EXPECT_EQ(priced->total_s, whole->total_s)
            << name_of(algorithm->collective) << " " << algorithm->name;
        ++priced_ones;
    }
    EXPECT_GT(priced_ones, 0);
}

const Algorithm two_deaf_ranks{
    .collective = Collective::bcast,
    .name = "deaf",
    .source = "",
    .cost = "",
    .needs = {},
    .build =
        [](const CallShape& shape) {
            model::Builder steps;
            steps.await(1 - shape.rank);
            return steps.finish();
        },
};

TEST(Predict, AScheduleThatCannotFinishIsRefusedWithWhoWaits) {
    const auto priced = predict(two_deaf_ranks, {.collective = Collective::bcast, .ranks = 2},
                                network(hockney_model(), 2));

    ASSERT_FALSE(priced);
    EXPECT_THAT(priced.failure().sentence, HasSubstr("rank 0 waits for rank 1"));
}

const Algorithm endless{
    .collective = Collective::bcast,
    .name = "endless",
    .source = "",
    .cost = "",
    .needs = {},
    .build =
        [](const CallShape&) {
            model::Builder steps;
            for (int i = 0; i < 100; ++i) steps.signal(0);
            return steps.finish();
        },
};

TEST(Predict, AScheduleThatWouldTakeTooLongIsRefusedWithTheRemedy) {
    const auto priced = predict(endless, {.collective = Collective::bcast, .ranks = 1'000'000},
                                network(hockney_model(), 1'000'000));

    ASSERT_FALSE(priced);
    EXPECT_THAT(priced.failure().sentence, HasSubstr("100 million steps"));
    EXPECT_THAT(priced.failure().sentence, HasSubstr("fewer ranks"));
}

// Sixteen ranks in turn on four hosts, between which a message takes a millisecond.
TEST(Predict, TwoLevelsTakeARoundBetweenHostsForEachDoublingOfThem) {
    Network network;
    network.ranks = 16;
    network.cost = [](int from, int to, std::int64_t) {
        return model::MessageCost{.latency_s = from % 4 == to % 4 ? 0.0 : 1e-3};
    };
    std::vector<int> hosts;
    for (int rank = 0; rank < network.ranks; ++rank) hosts.push_back(rank % 4);
    const struct {
        Collective collective;
        double rounds;
    } calls[] = {{Collective::barrier, 2},   {Collective::bcast, 2},      {Collective::scatter, 2},
                 {Collective::gather, 2},    {Collective::scatterv, 2},   {Collective::gatherv, 2},
                 {Collective::allgather, 2}, {Collective::allgatherv, 2}, {Collective::reduce, 2},
                 {Collective::allreduce, 2}, {Collective::alltoall, 1}};
    for (const auto& [collective, rounds] : calls) {
        const auto priced = predict(*find_algorithm(collective, "two_level"),
                                    {.collective = collective,
                                     .ranks = network.ranks,
                                     .root = 5,
                                     .message_bytes = block_bytes,
                                     .hosts = hosts},
                                    network);

        ASSERT_TRUE(priced) << name_of(collective);
        EXPECT_NEAR(priced->total_s, rounds * 1e-3, 1e-9) << name_of(collective);
    }
}

TEST(PredictOverLanes, FindsFourLanesFasterThanATreeThatKnowsNoSites) {
    for (const auto collective : {Collective::scatter, Collective::gather}) {
        const double lanes_s = over_lanes_s(collective, "multilane", 4);
        EXPECT_GT(lanes_s, 0.0);
        EXPECT_LT(lanes_s, over_lanes_s(collective, "lmo_binomial", 1));
        EXPECT_LE(lanes_s, 1.001 * over_lanes_s(collective, "three_step", 4));
    }
}

TEST(PredictOverLanes, IsRefusedWhereAllRanksThatAreAskedAboutAreAtOneSite) {
    for (const auto collective : {Collective::scatter, Collective::gather, Collective::bcast}) {
        const auto priced = over_lanes(collective, "multilane", 4, 1);

        ASSERT_FALSE(priced) << name_of(collective);
        EXPECT_THAT(priced.failure().sentence, HasSubstr("all ranks are at one site"));
    }
}

TEST(PredictOverLanes, GainsWhatTheLanesCarryTogether) {
    const double one_s = over_lanes_s(Collective::scatter, "multilane", 1);
    const double four_s = over_lanes_s(Collective::scatter, "multilane", 4);
    EXPECT_NEAR(one_s / four_s, 104.2 / 26.5, 0.1);
}

}  // namespace
}  // namespace lanewise::collectives
