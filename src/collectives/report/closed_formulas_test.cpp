// SPDX-License-Identifier: BSD-3-Clause
//
// The closed formulas of the literature against the price of the schedules
// that they are about.

#include <gtest/gtest.h>

#include <string>

#include "collectives/predict.hpp"
#include "model/models/hockney.hpp"
#include "model/models/lmo.hpp"
#include "model/models/loggp.hpp"
#include "model/models/plogp.hpp"

namespace lanewise::report {
namespace {

using collectives::Collective;
using model::Parameter;

constexpr std::uint64_t sizes_bytes[] = {1, 1000, 100000};

double priced_s(const model::Network& network, Collective collective, const char *name,
                std::uint64_t bytes) {
    const auto *algorithm = collectives::find_algorithm(collective, name);
    if (!algorithm) return -1.0;
    collectives::PricedCall call;
    call.collective = collective;
    call.ranks = network.ranks;
    call.message_bytes = bytes;
    const auto priced = collectives::predict(*algorithm, call, network);
    return priced ? priced->total_s : -1.0;
}

void expect_near(double formula_s, double price_s) {
    EXPECT_NEAR(formula_s / price_s, 1.0, 1e-6);
}

model::Lmo alike(int ranks) {
    model::Lmo lmo;
    lmo.processors.assign(static_cast<std::size_t>(ranks), {Parameter(2e-6), Parameter(1e-9)});
    lmo.links = model::Links<model::LmoLink>(ranks);
    lmo.links.each([](int, int, model::LmoLink& link) {
        link = {Parameter(2e-5), Parameter(5e-9)};
    });
    return lmo;
}

TEST(ClosedFormulas, OfLmoAreThePriceOnAlikeRanksOfAnyNumber) {
    for (int ranks = 2; ranks <= 17; ++ranks) {
        const auto lmo = alike(ranks);
        const auto network = model::network(lmo, ranks, {});
        for (const auto bytes : sizes_bytes) {
            const auto size = static_cast<std::int64_t>(bytes);
            expect_near(model::lmo::linear_scatter_s(lmo, 0, size),
                        priced_s(network, Collective::scatter, "linear", bytes));
            expect_near(model::lmo::binomial_scatter_s(lmo, 0, size),
                        priced_s(network, Collective::scatter, "binomial", bytes));
            expect_near(model::lmo::chain_bcast_s(lmo, 0, size),
                        priced_s(network, Collective::bcast, "chain", bytes));
        }
    }
}

TEST(ClosedFormulas, OfLmoAreNoLessThanThePriceWhereRanksDiffer) {
    auto lmo = alike(8);
    lmo.links.at(0, 3).latency_s = Parameter(9e-5);
    lmo.processors[5].fixed_s = Parameter(3e-5);
    const auto network = model::network(lmo, 8, {});
    for (const auto bytes : sizes_bytes) {
        const double price_s = priced_s(network, Collective::scatter, "linear", bytes);
        EXPECT_GT(price_s, 0.0);
        EXPECT_GE(model::lmo::linear_scatter_s(lmo, 0, static_cast<std::int64_t>(bytes)),
                  price_s * (1.0 - 1e-9));
    }
}

TEST(ClosedFormulas, OfHockneyAreThePriceOnPowersOfTwo) {
    for (const int ranks : {2, 4, 8, 16}) {
        model::Hockney hockney{model::Links<model::HockneyLink>(ranks)};
        hockney.links.each([](int, int, model::HockneyLink& link) {
            link = {Parameter(2e-5), Parameter(5e-9)};
        });
        const auto network = model::network(hockney, ranks);
        const auto link = model::mean_link(hockney);
        for (const auto bytes : sizes_bytes) {
            const auto size = static_cast<std::int64_t>(bytes);
            expect_near(model::hockney::linear_scatter_s(link, ranks, size),
                        priced_s(network, Collective::scatter, "linear", bytes));
            expect_near(model::hockney::binomial_scatter_s(link, ranks, size),
                        priced_s(network, Collective::scatter, "binomial", bytes));
            expect_near(model::hockney::linear_bcast_s(link, ranks, size),
                        priced_s(network, Collective::bcast, "linear", bytes));
            expect_near(model::hockney::binomial_bcast_s(link, ranks, size),
                        priced_s(network, Collective::bcast, "binomial", bytes));
            expect_near(model::hockney::chain_bcast_s(link, ranks, size),
                        priced_s(network, Collective::bcast, "chain", bytes));
        }
    }
}

TEST(ClosedFormulas, OfKnomialTreesAreThePriceOnPowersOfTheirRadix) {
    model::Network network;
    network.cost = [](int, int, std::int64_t) { return model::MessageCost{.latency_s = 1e-3}; };
    for (const int radix : {2, 3, 4, 5, 8, 13}) {
        const auto name = "knomial:" + std::to_string(radix);
        for (int rounds = 1, ranks = radix; rounds <= 2; ++rounds, ranks *= radix) {
            network.ranks = ranks;
            for (const auto collective :
                 {Collective::bcast, Collective::scatter, Collective::gather, Collective::reduce}) {
                expect_near(rounds * 1e-3, priced_s(network, collective, name.c_str(), 8));
            }
        }
    }
}

TEST(ClosedFormulas, OfLogGPAndPLogPAreThePriceOnPowersOfTwo) {
    const model::LogGP loggp{Parameter(2e-5), Parameter(2e-6), Parameter(5e-6), Parameter(3e-9)};
    model::PLogP plogp{Parameter(2e-5), {}};
    for (const std::int64_t bytes : {0, 1000}) {
        const double size = static_cast<double>(bytes);
        plogp.sizes.push_back(
            {bytes, Parameter(1e-6), Parameter(1e-6), Parameter(5e-6 + 3e-9 * size)});
    }
    for (const int ranks : {2, 4, 8, 16}) {
        for (const auto bytes : sizes_bytes) {
            const auto size = static_cast<std::int64_t>(bytes);
            expect_near(model::loggp::linear_scatter_s(loggp, ranks, size),
                        priced_s(network(loggp, ranks), Collective::scatter, "linear", bytes));
            expect_near(model::loggp::binomial_scatter_s(loggp, ranks, size),
                        priced_s(network(loggp, ranks), Collective::scatter, "binomial", bytes));
            expect_near(model::loggp::chain_bcast_s(loggp, ranks, size),
                        priced_s(network(loggp, ranks), Collective::bcast, "chain", bytes));
            expect_near(model::plogp::linear_scatter_s(plogp, ranks, size),
                        priced_s(network(plogp, ranks), Collective::scatter, "linear", bytes));
            expect_near(model::plogp::binomial_scatter_s(plogp, ranks, size),
                        priced_s(network(plogp, ranks), Collective::scatter, "binomial", bytes));
            expect_near(model::plogp::chain_bcast_s(plogp, ranks, size),
                        priced_s(network(plogp, ranks), Collective::bcast, "chain", bytes));
        }
    }
}

}  // namespace
}  // namespace lanewise::report
