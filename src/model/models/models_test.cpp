// SPDX-License-Identifier: BSD-3-Clause
//
// Every model finds the parameters of a network that is made after it, without
// noise exactly and with noise nearly, and says what it lacks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/models/hockney.hpp"
#include "model/models/lmo.hpp"
#include "model/models/loggp.hpp"
#include "model/models/plogp.hpp"
#include "model/simulation/uniform_network.hpp"
#include "model/testing/synthetic.hpp"

namespace lanewise::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Network simple(int ranks) {
    return uniform_network(ranks, {.send_s = 1e-6}, {.send_s = 1e-9});
}

Lmo random_lmo(int ranks, unsigned seed) {
    std::mt19937 random(seed);
    const auto between = [&random](double low, double high) {
        return Parameter(std::uniform_real_distribution<double>(low, high)(random));
    };
    Lmo model;
    for (int rank = 0; rank < ranks; ++rank)
        model.processors.push_back({between(1e-6, 5e-6), between(0.5e-9, 3e-9)});
    model.links = Links<LmoLink>(ranks);
    model.links.each([&](int, int, LmoLink& link) {
        link = {between(5e-6, 50e-6), between(1e-9, 10e-9)};
    });
    return model;
}

void expect_alike(std::vector<Parameter *> found, std::vector<Parameter *> truth, double error) {
    ASSERT_EQ(found.size(), truth.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i]->value / truth[i]->value, 1.0, error) << "parameter " << i;
    }
}

double latency_of(Observations seen) {
    return fit_hockney(seen)->model.links.at(0, 1).latency_s.value;
}

TEST(HockneyTest, IsTheSameWhicheverOfTwoMeasurementsOfALinkComesFirst) {
    auto seen = Synthetic(simple(2)).pairs(all_sizes()).observations();
    const auto once = seen.all;
    for (auto slower : once) {
        std::swap(slower.root, slower.peer);
        slower.time_s *= 4.0;
        seen.all.push_back(slower);
    }
    auto turned = seen;
    std::reverse(turned.all.begin(), turned.all.end());

    EXPECT_NEAR(latency_of(seen), 2e-6, 1e-12) << "the geometric mean of both";
    EXPECT_DOUBLE_EQ(latency_of(seen), latency_of(turned));
}

TEST(LmoTest, FindsWhatItWasMadeOf) {
    for (const int ranks : {3, 4, 7}) {
        for (unsigned seed = 0; seed < 5; ++seed) {
            auto truth = random_lmo(ranks, seed);
            const auto fitted = fit_lmo(Synthetic(network(truth, ranks, {}))
                                            .pairs(all_sizes())
                                            .triplets({0, 1024, 65536})
                                            .triplets({1024, 65536}, true)
                                            .observations());
            ASSERT_TRUE(fitted);
            EXPECT_TRUE(fitted->notes.empty());
            auto model = fitted->model;
            expect_alike(parameters(model), parameters(truth), 1e-4);
        }
    }
}

TEST(LmoTest, NeedsNoLongAnswersWhereSlowerPeersAreServedLast) {
    auto truth = random_lmo(6, 9);
    truth.links.each([](int i, int j, LmoLink& link) {
        link.latency_s = Parameter(1e-5 + 1e-6 * std::max(i, j));
        link.s_per_byte = Parameter(1e-9 + 1e-10 * std::max(i, j));
    });
    const auto fitted = fit_lmo(Synthetic(network(truth, 6, {}))
                                    .pairs(all_sizes())
                                    .triplets({0, 1024, 65536})
                                    .observations());
    ASSERT_TRUE(fitted);
    auto model = fitted->model;
    expect_alike(parameters(model), parameters(truth), 1e-4);
}

TEST(LmoTest, SaysThatAProcessorCannotBeToldFromItsLinksAndWhatWouldTell) {
    auto truth = random_lmo(3, 9);
    truth.links.at(0, 1).s_per_byte = Parameter(1e-7);
    const auto fitted = fit_lmo(Synthetic(network(truth, 3, {}))
                                    .pairs(all_sizes())
                                    .triplets({0, 1024, 65536})
                                    .observations());
    ASSERT_TRUE(fitted);
    EXPECT_THAT(fitted->notes,
                ::testing::Contains(AllOf(HasSubstr("of rank 0 cannot be told"),
                                          HasSubstr("lanewise measure triplets -n 3 --sizes 1K,32K "
                                                    "--reply same --launcher synthetic"))));
}

TEST(LmoTest, IsNearTheTruthUnderNoise) {
    auto truth = random_lmo(6, 3);
    const auto fitted = fit_lmo(Synthetic(network(truth, 6, {}), 0.02)
                                    .pairs(all_sizes())
                                    .triplets({0, 8192, 65536})
                                    .observations());
    ASSERT_TRUE(fitted);
    const auto& model = fitted->model;
    for (int from = 0; from < 6; ++from) {
        for (int to = from + 1; to < 6; ++to) {
            for (const std::int64_t bytes : {0, 4096, 1 << 20}) {
                EXPECT_NEAR(
                    lmo::message_s(model, from, to, bytes) / lmo::message_s(truth, from, to, bytes),
                    1.0, 0.02);
            }
        }
    }
}

TEST(LmoTest, NamesTheRankThatHasNoTriplets) {
    const auto truth = random_lmo(3, 1);
    const auto fitted = fit_lmo(Synthetic(network(truth, 3, {})).pairs(all_sizes()).observations());
    ASSERT_FALSE(fitted);
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("rank 0"));
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("lanewise measure triplets -n 3"));
}

TEST(LmoTest, NamesTheLinkThatHasNoRoundTripOfEmptyMessages) {
    const auto truth = random_lmo(4, 1);
    auto seen =
        Synthetic(network(truth, 4, {})).pairs({0, 1024, 4096}).triplets({0, 1024}).observations();
    // Each rank still has triplets whose pairs are there.
    std::erase_if(seen.all, [](const Observation& one) {
        const bool between = one.root + one.peer == 5 && one.root * one.peer == 6;
        return one.experiment == Experiment::pair && between && one.message_bytes == 0;
    });

    const auto fitted = fit_lmo(seen);

    ASSERT_FALSE(fitted);
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("no round trip at size 0 on link 2-3"));
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("lanewise measure pairs -n 4"));
}

TEST(LmoTest, LeavesLinksNothingRatherThanLessAndKeepsTheRoundTripWhole) {
    auto truth = random_lmo(3, 1);
    Synthetic synthetic(network(truth, 3, {}));
    auto seen = synthetic.pairs({0, 1024}).triplets({0, 1024}).observations();
    for (auto& one : seen.all) {
        if (one.experiment == Experiment::triplet) one.time_s *= 3.0;
    }
    const auto fitted = fit_lmo(seen);
    ASSERT_TRUE(fitted);
    EXPECT_THAT(fitted->notes, ::testing::Contains(HasSubstr("latency of link 0-1")));
    for (const auto& [from, to] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
        EXPECT_GE(fitted->model.links.at(from, to).latency_s.value, 0.0);
        for (const std::int64_t bytes : {0, 1024}) {
            const double true_s = lmo::message_s(truth, from, to, bytes);
            EXPECT_NEAR(lmo::message_s(fitted->model, from, to, bytes) / true_s, 1.0, 1e-9);
        }
    }
}

TEST(LmoTest, MakesAlikeProcessorsSmallerByTheSame) {
    // Forks that take longer than any C explains: as if a processor were busy for the whole way.
    const auto way = uniform_network(4, {.send_s = 4e-5}, {.send_s = 1e-9});
    const auto seen = Synthetic(way).pairs(all_sizes()).triplets({0, 1024, 32768}).observations();
    const auto fitted = fit_lmo(seen);
    ASSERT_TRUE(fitted) << fitted.failure().sentence;

    const auto& first = fitted->model.processors[0];
    for (const auto& processor : fitted->model.processors) {
        EXPECT_NEAR(processor.fixed_s.value, first.fixed_s.value, 1e-12);
        EXPECT_NEAR(processor.s_per_byte.value, first.s_per_byte.value, 1e-15);
        EXPECT_NEAR(processor.fixed_s.value, 2e-5, 1e-7);
    }
}

/* Two ranges of sizes; from the size on, if there is one, messages wait for their receive. */
Lmo ranged_lmo(int ranks, std::optional<std::int64_t> waits_from_bytes) {
    Lmo model;
    for (int rank = 0; rank < ranks; ++rank)
        model.processors.push_back({Parameter(1e-6), Parameter((4.0 + 0.2 * rank) * 1e-9)});
    model.links = Links<LmoLink>(ranks);
    model.ranges = LmoRanges{{0, 4096}, waits_from_bytes, MessageLinks(ranks)};
    model.ranges->messages.each([](int, int, std::vector<PiecewiseTime>& times) {
        times = {{Parameter(2e-5), Parameter(2.2e-8)}, {Parameter(9e-5), Parameter(1e-8)}};
    });
    return model;
}

TEST(LmoTest, PredictsMessagesThatWaitForTheirReceiveAndAreNoLine) {
    const int ranks = 6;
    const auto truth = network(ranged_lmo(ranks, 0), ranks, {});
    const std::vector<std::int64_t> sizes{0, 1, 64, 512, 1024, 4096, 16384, 65536, 262144};
    const auto fitted = fit_lmo(
        Synthetic(truth).pairs(sizes).trains(sizes).triplets({0, 1024, 65536}).observations());
    ASSERT_TRUE(fitted) << fitted.failure().sentence;
    ASSERT_TRUE(fitted->model.ranges.has_value());
    EXPECT_EQ(fitted->model.ranges->waits_from_bytes, 0);
    EXPECT_THAT(fitted->model.ranges->from_bytes, testing::ElementsAre(0, 4096));
    const auto found = network(fitted->model, ranks, {});
    const auto others =
        Synthetic(truth).pairs({300, 9000}).trains({300, 9000}).triplets({300, 9000});
    for (const auto& seen : others.observations().all)
        EXPECT_NEAR(*expected_s(found, seen) / seen.time_s, 1.0, 0.05) << seen.operation;
}

TEST(LmoTest, KeepsToOneLineWhereThatDescribesAllSizes) {
    const auto truth = random_lmo(4, 2);
    const auto fitted = fit_lmo(Synthetic(network(truth, 4, {}), 0.02)
                                    .pairs(all_sizes())
                                    .trains(all_sizes())
                                    .triplets({0, 1024, 32768})
                                    .observations());
    ASSERT_TRUE(fitted) << fitted.failure().sentence;
    EXPECT_FALSE(fitted->model.ranges.has_value());
}

TEST(LmoTest, GivesRanksBeyondTheMeasuredTheMeansOfEachRange) {
    const auto model = ranged_lmo(3, 4096);
    const auto cost = network(model, 5, {}).cost(4, 3, 1024);
    const double whole_s = cost.send_s + cost.latency_s + cost.receive_s;
    EXPECT_NEAR(whole_s, 2e-5 + 1024 * 2.2e-8, 1e-12);
    EXPECT_EQ(network(model, 5, {}).eager_bytes, 4095);
    const auto waiting = network(model, 5, {}).cost(4, 3, 8192);
    EXPECT_NEAR(waiting.egress_s, 8192 * 4.2e-9, 1e-12);
    EXPECT_NEAR(waiting.ingress_s, waiting.egress_s, 1e-12);
}

TEST(LmoTest, GivesRanksBeyondTheMeasuredTheMeans) {
    const auto truth = random_lmo(4, 2);
    const auto many = network(truth, 100, {});
    const auto cost = many.cost(50, 60, 1000);
    EXPECT_DOUBLE_EQ(cost.send_s, mean_processor(truth).time_s(1000));
    EXPECT_DOUBLE_EQ(cost.latency_s, mean_link(truth).time_s(1000));
    EXPECT_DOUBLE_EQ(many.cost(0, 1, 0).latency_s, truth.links.at(0, 1).latency_s.value);
    EXPECT_DOUBLE_EQ(many.cost(0, 99, 0).send_s, truth.processors[0].fixed_s.value);
}

TEST(LmoTest, BringsInLongMessagesOneAfterAnotherAboveM2) {
    const auto truth = random_lmo(4, 2);
    GatherRegion region;
    region.m1_bytes = 1024;
    region.m2_bytes = 65536;
    const auto made = network(truth, 4, region);
    EXPECT_DOUBLE_EQ(made.cost(1, 0, 65536).ingress_s, 0.0);
    EXPECT_DOUBLE_EQ(made.cost(1, 0, 65537).latency_s, 0.0);
    EXPECT_DOUBLE_EQ(made.cost(1, 0, 65537).ingress_s, truth.links.at(0, 1).time_s(65537));
}

TEST(HockneyTest, FindsWhatItWasMadeOf) {
    Hockney truth{Links<HockneyLink>(5)};
    truth.links.each([](int i, int j, HockneyLink& link) {
        link = {Parameter(1e-5 * (i + 1)), Parameter(1e-9 * j)};
    });
    const auto fitted = fit_hockney(Synthetic(network(truth, 5)).pairs(all_sizes()).observations());
    ASSERT_TRUE(fitted);
    auto model = fitted->model;
    expect_alike(parameters(model), parameters(truth), 1e-9);
}

TEST(HockneyTest, NamesTheLinkThatWasNotMeasured) {
    auto seen = Synthetic(simple(4)).pairs({0, 1024}).observations();
    std::erase_if(seen.all, [](const Observation& one) { return one.root == 2; });
    const auto fitted = fit_hockney(seen);
    ASSERT_FALSE(fitted);
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("link 2-3"));
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("lanewise measure pairs -n 4"));
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("--launcher synthetic"));
}

TEST(LogGPTest, FindsWhatItWasMadeOf) {
    LogGP truth{Parameter(2e-5), Parameter(2e-6), Parameter(5e-6), Parameter(3e-9)};
    const auto fitted = fit_loggp(Synthetic(network(truth, 3))
                                      .pairs(all_sizes())
                                      .trains(all_sizes())
                                      .sends(all_sizes())
                                      .receives(all_sizes())
                                      .observations());
    ASSERT_TRUE(fitted);
    auto model = fitted->model;
    expect_alike(parameters(model), parameters(truth), 1e-6);
}

TEST(LogGPTest, LooksForTheGapWhereItIsLongerThanTheOverhead) {
    LogGP truth{Parameter(2e-5), Parameter(5e-6), Parameter(1e-7), Parameter(3e-9)};
    const auto fitted = fit_loggp(Synthetic(network(truth, 3))
                                      .pairs(all_sizes())
                                      .trains(all_sizes())
                                      .sends(all_sizes())
                                      .receives(all_sizes())
                                      .observations());
    ASSERT_TRUE(fitted);
    EXPECT_NEAR(fitted->model.gap_s_per_byte.value, 3e-9, 1e-12);
    EXPECT_NEAR(fitted->model.overhead_s.value, 5e-6, 1e-9);
}

TEST(PLogPTest, FindsWhatItWasMadeOf) {
    PLogP truth{Parameter(3e-5), {}};
    for (const auto bytes : all_sizes()) {
        const double size = static_cast<double>(bytes);
        truth.sizes.push_back({bytes, Parameter(1e-6 + 1e-10 * size),
                               Parameter(2e-6 + 1e-10 * size), Parameter(4e-6 + 5e-9 * size)});
    }
    const auto fitted = fit_plogp(Synthetic(network(truth, 3))
                                      .pairs(all_sizes())
                                      .trains(all_sizes())
                                      .sends({0, 1, 16, 64, 256})
                                      .receives(all_sizes())
                                      .observations());
    ASSERT_TRUE(fitted);
    ASSERT_EQ(fitted->model.sizes.size(), 5u) << "sizes that all three share";
    EXPECT_NEAR(fitted->model.latency_s.value / 3e-5, 1.0, 1e-6);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(fitted->model.sizes[i].gap_s.value / truth.sizes[i].gap_s.value, 1.0, 1e-6);
        EXPECT_NEAR(fitted->model.sizes[i].send_s.value / truth.sizes[i].send_s.value, 1.0, 1e-6);
    }
}

TEST(PLogPTest, DrawsStraightLinesBetweenSizesAndOn) {
    PLogP model{Parameter(0.0), {}};
    for (const std::int64_t bytes : {0, 10, 20}) {
        const Parameter gap(static_cast<double>(bytes * bytes));
        model.sizes.push_back({bytes, Parameter(0.0), Parameter(0.0), gap});
    }
    EXPECT_DOUBLE_EQ(model.gap_s(0), 0.0);
    EXPECT_DOUBLE_EQ(model.gap_s(5), 50.0);
    EXPECT_DOUBLE_EQ(model.gap_s(15), 250.0);
    EXPECT_DOUBLE_EQ(model.gap_s(30), 700.0);
}

TEST(PLogPTest, NeverFallsBeyondTheLastSize) {
    PLogP model{Parameter(0.0), {}};
    const std::pair<std::int64_t, double> gaps_s[] = {
        {0, 1e-6}, {524288, 50e-6}, {917504, 100e-6}, {1048576, 98e-6}};
    for (const auto& [bytes, gap_s] : gaps_s)
        model.sizes.push_back({bytes, Parameter(2e-6 - 1e-12 * static_cast<double>(bytes)),
                               Parameter(0.0), Parameter(gap_s)});

    EXPECT_DOUBLE_EQ(model.gap_s(1048576), 98e-6);
    EXPECT_NEAR(model.gap_s(2 * 1048576), 98e-6 + 2 * 48e-6, 1e-12);
    EXPECT_DOUBLE_EQ(model.send_s(1 << 30), model.send_s(1048576)) << "where it falls, it stays";
}

TEST(PLogPTest, NamesTheExperimentThatIsLacking) {
    const auto fitted =
        fit_plogp(Synthetic(simple(2)).pairs(all_sizes()).trains(all_sizes()).observations());
    ASSERT_FALSE(fitted);
    EXPECT_THAT(fitted.failure().sentence, HasSubstr("lanewise measure sends -n 2"));
}

}  // namespace
}  // namespace lanewise::model
