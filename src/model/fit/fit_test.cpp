// SPDX-License-Identifier: BSD-3-Clause
//
// The whole fit: intervals that hold the truth, the best model, what is held
// back, what is lacking, and the gather region.

#include "model/fit/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/simulation/uniform_network.hpp"
#include "model/testing/synthetic.hpp"

namespace lanewise::model {
namespace {

using ::testing::HasSubstr;

const MessageCost fixed{.send_s = 2e-6, .latency_s = 2e-5, .receive_s = 2e-6};
const MessageCost per_byte{.send_s = 1e-9, .latency_s = 5e-9, .receive_s = 1e-9};

Synthetic measured(const Network& network, double noise, unsigned seed) {
    return Synthetic(network, noise, seed)
        .pairs(all_sizes())
        .triplets({0, 1024, 16384, 65536})
        .trains(all_sizes())
        .sends(all_sizes())
        .receives(all_sizes());
}

TEST(FitTest, GivesIntervalsThatHoldTheTruthAboutAsOftenAsTheySay) {
    // A link's a and b are what least noise hides, so any bias would show in them first.
    int held = 0;
    int asked = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
        const auto seen =
            Synthetic(uniform_network(4, {.send_s = 1e-5}, {.send_s = 2e-9}), 0.05, seed)
                .pairs(all_sizes())
                .observations();
        const auto done = fit(seen, {.redraws = 100, .algorithms_of = {}});
        ASSERT_TRUE(done);
        done->platform.hockney->links.each([&](int, int, const HockneyLink& link) {
            asked += 2;
            held += link.latency_s.low <= 1e-5 && 1e-5 <= link.latency_s.high;
            held += link.s_per_byte.low <= 2e-9 && 2e-9 <= link.s_per_byte.high;
        });
    }
    EXPECT_GE(held, asked * 88 / 100) << held << " of " << asked;
}

TEST(FitTest, CallsBestTheModelThatThePlatformIsMadeAfter) {
    // Alike ranks are described as well by other models; only LMO knows that processors differ.
    auto differing = uniform_network(5, fixed, per_byte);
    differing.cost = [](int from, int to, std::int64_t bytes) {
        const auto whole = [bytes](double fixed_s, double s_per_byte) {
            return fixed_s + s_per_byte * static_cast<double>(bytes);
        };
        return MessageCost{.send_s = (from + 1) * whole(2e-6, 1e-9),
                           .latency_s = whole(2e-5, 5e-9),
                           .receive_s = (to + 1) * whole(2e-6, 1e-9)};
    };
    const auto lmo =
        fit(measured(differing, 0.02, 1).observations(), {.redraws = 5, .algorithms_of = {}});
    ASSERT_TRUE(lmo);
    EXPECT_EQ(lmo->platform.best, "lmo");
    EXPECT_LT(lmo->platform.fit_quality.at("lmo").held_out_rms, 0.03);
    EXPECT_TRUE(lmo->lacks.empty());

    const LogGP truth{Parameter(2e-5), Parameter(2e-6), Parameter(5e-6), Parameter(3e-9)};
    const auto loggp = fit(measured(network(truth, 5), 0.0, 1).observations(),
                           {.redraws = 5, .algorithms_of = {}});
    ASSERT_TRUE(loggp);
    EXPECT_LT(loggp->platform.fit_quality.at("loggp").held_out_rms, 1e-6);
    EXPECT_THAT(loggp->platform.best, ::testing::EndsWith("loggp"));
}

TEST(FitTest, CallsBestTheModelThatFitsBestWhereNoPointIsHeldOut) {
    const auto uneven = [](std::int64_t bytes) { return bytes == 1024 ? 3e-5 : 1e-5; };
    auto bent = uniform_network(2, {}, {});
    bent.cost = [&](int, int, std::int64_t bytes) { return MessageCost{.send_s = uneven(bytes)}; };
    const std::vector<std::int64_t> sizes{0, 1024, 65536};
    const auto seen =
        Synthetic(bent).pairs(sizes).trains(sizes).sends(sizes).receives(sizes).observations();

    const auto done = fit(seen, {.redraws = 5, .algorithms_of = {}});

    ASSERT_TRUE(done);
    const auto& quality = done->platform.fit_quality;
    EXPECT_EQ(quality.at("hockney").held_out_points, 0u);
    EXPECT_EQ(done->platform.best, "plogp") << "a line misses the middle one";
    EXPECT_LT(quality.at("plogp").residual_rms(), quality.at("hockney").residual_rms());
}

TEST(FitTest, SaysOfEachModelThatIsNotFittedWhatToMeasure) {
    const auto done =
        fit(Synthetic(uniform_network(4, fixed, per_byte)).pairs(all_sizes()).observations(),
            {.redraws = 5, .algorithms_of = {}});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->platform.best, "hockney");
    ASSERT_EQ(done->lacks.size(), 3u);
    EXPECT_THAT(done->lacks[0], HasSubstr("loggp: no trains"));
    EXPECT_THAT(done->lacks[2], HasSubstr("lmo: no triplets"));
}

TEST(FitTest, FailsWithWhatToMeasureWhereNothingCanBeFitted) {
    const auto done = fit(Synthetic(uniform_network(4, fixed, per_byte))
                              .collective("scatter", 8, 1e-5)
                              .observations());
    ASSERT_FALSE(done);
    EXPECT_THAT(done.failure().sentence, HasSubstr("lanewise measure pairs -n 4"));
}

TEST(FitTest, HoldsBackEveryThirdSizeButNeverTheEnds) {
    const std::vector<std::int64_t> sizes{0, 1, 2, 4, 8, 16, 32, 64, 128};
    std::vector<std::int64_t> held;
    for (const auto size : sizes) {
        if (is_held_out(sizes, size)) held.push_back(size);
    }
    EXPECT_THAT(held, ::testing::ElementsAre(2, 16));
    EXPECT_FALSE(is_held_out({0, 1, 2}, 2));
}

TEST(FitTest, ComparesACollectiveWithTheNearestOfItsLikelyAlgorithms) {
    const auto one_message = [](int rank) {
        Builder steps;
        if (rank == 0) steps.send(1, {}, 1000);
        if (rank == 1) steps.receive(0, {}, 1000);
        return steps.finish();
    };
    const auto nothing = [](int) { return Schedule{}; };
    const auto network = uniform_network(2, {.send_s = 1.0}, {});
    const Observation seen{.experiment = Experiment::collective,
                           .operation = "scatter",
                           .time_s = 0.9,
                           .sorted_s = {}};
    EXPECT_FALSE(expected_s(network, seen));
    const auto expected = expected_s(network, seen, [&](const Observation&, int) {
        return std::vector<ScheduleOf>{nothing, one_message};
    });
    EXPECT_DOUBLE_EQ(expected.value(), 1.0);
}

TEST(FitTest, RedrawsTheSameFromTheSameSeedAndWithinTheSamples) {
    const auto seen = measured(uniform_network(3, fixed, per_byte), 0.1, 1).observations();
    const auto one = redrawn(seen, 7);
    const auto again = redrawn(seen, 7);
    const auto other = redrawn(seen, 8);
    int differing = 0;
    for (std::size_t i = 0; i < seen.all.size(); ++i) {
        EXPECT_EQ(one.all[i].time_s, again.all[i].time_s);
        EXPECT_GE(one.all[i].time_s, seen.all[i].sorted_s.front());
        EXPECT_LE(one.all[i].time_s, seen.all[i].sorted_s.back());
        differing += one.all[i].time_s != other.all[i].time_s;
    }
    EXPECT_GT(differing, static_cast<int>(seen.all.size()) / 2);
}

Observation gather_of(std::int64_t bytes, int escalated) {
    Observation seen{.experiment = Experiment::collective,
                     .operation = "gather",
                     .message_bytes = bytes,
                     .sorted_s = std::vector<double>(40, 1e-3)};
    for (int i = 0; i < escalated; ++i) seen.sorted_s[39 - static_cast<std::size_t>(i)] = 0.2;
    return seen;
}

TEST(GatherRegionTest, LiesBetweenTheLastQuietSizeAndTheLastEscalation) {
    Observations seen;
    for (const auto& [bytes, escalated] : std::vector<std::pair<std::int64_t, int>>{
             {64, 0}, {1024, 0}, {4096, 2}, {8192, 0}, {16384, 10}, {65536, 0}})
        seen.all.push_back(gather_of(bytes, escalated));
    const auto region = find_gather_region(seen);
    ASSERT_TRUE(region);
    EXPECT_EQ(region->m1_bytes, 1024);
    EXPECT_EQ(region->m2_bytes, 16384);
    EXPECT_NEAR(region->escalation_s, 0.199, 1e-9);
    EXPECT_DOUBLE_EQ(region->probabilities[4].probability, 0.25);
    EXPECT_FALSE(region->serial(16384));
    EXPECT_TRUE(region->serial(16385));
}

TEST(GatherRegionTest, IsNotThereWithoutEscalationsOrEnoughRepetitions) {
    Observations quiet;
    quiet.all = {gather_of(64, 0), gather_of(1024, 0)};
    EXPECT_FALSE(find_gather_region(quiet));
    Observations seldom;
    seldom.all = {gather_of(64, 1)};
    seldom.all[0].sorted_s.resize(10);
    EXPECT_FALSE(find_gather_region(seldom));
    Observations at_home;
    at_home.conditions.hosts = {"here", "here"};
    at_home.all = {gather_of(64, 1)};
    EXPECT_FALSE(find_gather_region(at_home));
}

}  // namespace
}  // namespace lanewise::model
