// SPDX-License-Identifier: BSD-3-Clause
//
// Segments and the model made of them, on curves whose protocols are known.

#include "model/models/piecewise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/fit/expected_time.hpp"
#include "model/models/segments.hpp"
#include "model/models/trains.hpp"
#include "model/testing/synthetic.hpp"

namespace lanewise::model {
namespace {

using ::testing::ElementsAre;

std::vector<double> switches_of(const std::function<double(double)>& time_of) {
    std::vector<Mark> marks;
    for (double x = 16; x <= 1 << 20; x *= 2) marks.push_back({x, time_of(x), time_of(x)});
    std::vector<double> switches;
    for (const auto& segment : find_segments(marks)) switches.push_back(segment.from);
    return switches;
}

TEST(SegmentsTest, AreOneWhereTheCurveIsALine) {
    EXPECT_THAT(switches_of([](double x) { return 1e-6 + 1e-9 * x; }), ElementsAre(0.0));
}

TEST(SegmentsTest, AreNotMadeOfNoise) {
    int flips = 0;
    const auto noisy = [&flips](double x) {
        return (1e-6 + 1e-9 * x) * (++flips % 2 == 0 ? 1.05 : 0.95);
    };
    EXPECT_THAT(switches_of(noisy), ElementsAre(0.0));
}

TEST(SegmentsTest, BeginWhereAJumpWasFirstSeen) {
    const auto jump = [](double x) { return x < 4000 ? 1e-7 + 5e-11 * x : 2e-6 + 6e-11 * x; };
    EXPECT_THAT(switches_of(jump), ElementsAre(0.0, 4096.0));
}

TEST(SegmentsTest, MeetWhereTheirLinesCross) {
    // Beyond 50000 bytes memory is less than half as fast.
    const auto bend = [](double x) {
        return 1e-5 + 1e-10 * x + 1.5e-10 * std::max(x - 50000.0, 0.0);
    };
    const auto switches = switches_of(bend);
    ASSERT_EQ(switches.size(), 2u);
    EXPECT_NEAR(switches[1], 50000.0, 1.0);
}

TEST(SegmentsTest, BeginWhereOnlyTheOtherCurveJumps) {
    std::vector<Mark> marks;
    std::vector<Mark> beside;
    for (double x = 16; x <= 1 << 16; x *= 2) {
        const double y = 1e-6 + 1e-9 * x;
        const double other = x < 500 ? 2e-7 + 1e-10 * x : 6e-7 + 1e-10 * x;
        marks.push_back({x, y, y});
        beside.push_back({x, other, other});
    }
    const auto segments = find_segments(marks, beside);
    ASSERT_EQ(segments.size(), 2u);
    EXPECT_DOUBLE_EQ(segments[1].from, 512.0);
}

TEST(SizeRangesTest, DoNotExtendALineThroughTheBeginningOfARange) {
    const SizeRanges ranges{{0, 512}, {}, {{1e-6, 1e-9}, {2e-6, 1e-9}}};
    const auto steep = ranges.line_of({{0, 1e-7}, {1, 2e-7}}, 0, 1.0);
    EXPECT_LT(steep.time_s(500), 3e-7);
    const auto whole = ranges.line_of({{0, 1e-7}, {256, 2e-7}}, 0, 1.0);
    EXPECT_NEAR(whole.time_s(128), 1.5e-7, 1e-12);
    EXPECT_NEAR(ranges.line_of({{1024, 1e-6}, {2048, 2e-6}}, 1, 1.0).time_s(4096), 4e-6, 1e-12);
}

/* Eager messages below 4096 bytes, which follow each other late; larger ones wait for their
   receive. */
Piecewise two_protocols(int ranks) {
    const auto line = [](double fixed_s, double s_per_byte) {
        return PiecewiseTime{Parameter(fixed_s), Parameter(s_per_byte)};
    };
    Piecewise model;
    model.protocols = {{0, line(3e-7, 2e-10), line(1e-7, 0), line(1e-7, 0)},
                       {4096, line(2e-6, 1e-10), line(0, 0), line(0, 0)}};
    model.waits_from_bytes = 4096;
    model.links = Links<std::vector<PiecewiseTime>>(ranks);
    model.links.each([&](int i, int j, std::vector<PiecewiseTime>& times) {
        const double slower = 1.0 + 0.1 * (i + j);
        times = {line(2e-7 * slower, 1e-10), line(2e-6 * slower, 1e-10)};
    });
    return model;
}

Observations observed(const Piecewise& model, int ranks) {
    return Synthetic(network(model, ranks))
        .pairs(all_sizes())
        .trains(all_sizes())
        .sends(all_sizes())
        .receives(all_sizes())
        .observations();
}

TEST(PiecewiseTest, FindsWhatItWasMadeOf) {
    const auto truth = two_protocols(3);
    const auto fitted = fit_piecewise(observed(truth, 3));

    ASSERT_TRUE(fitted) << fitted.failure().sentence;
    const auto& model = fitted->model;
    ASSERT_EQ(model.protocols.size(), 2u);
    EXPECT_EQ(model.protocols[1].from_bytes, 4096);
    EXPECT_EQ(model.waits_from_bytes, 4096);
    model.links.each([&](int i, int j, const std::vector<PiecewiseTime>& times) {
        for (std::size_t which = 0; which < 2; ++which) {
            const auto& expected = truth.links.at(i, j)[which];
            EXPECT_NEAR(times[which].fixed_s.value / expected.fixed_s.value, 1.0, 1e-6);
            EXPECT_NEAR(times[which].s_per_byte.value / expected.s_per_byte.value, 1.0, 1e-6);
        }
    });
}

TEST(PiecewiseTest, PredictsTrainsOfBothProtocols) {
    auto truth = two_protocols(2);
    const auto seen = observed(truth, 2);
    const auto fitted = fit_piecewise(seen);
    ASSERT_TRUE(fitted);
    const auto made = network(fitted->model, 2);

    for (const auto& one : seen.all) {
        const auto expected = expected_s(made, one);
        if (expected) {
            EXPECT_NEAR(*expected / one.time_s, 1.0, 0.01) << one.message_bytes;
        }
    }
}

TEST(PiecewiseTest, NeedsRoundTripsAlone) {
    const auto seen = Synthetic(network(two_protocols(2), 2)).pairs(all_sizes()).observations();
    const auto fitted = fit_piecewise(seen);

    ASSERT_TRUE(fitted);
    const auto& model = fitted->model;
    EXPECT_FALSE(model.waits_from_bytes);
    EXPECT_DOUBLE_EQ(model.protocols[0].gap.fixed_s.value, model.links.at(0, 1)[0].fixed_s.value);
    EXPECT_EQ(model.protocols[0].send.fixed_s.value, 0.0);
}

TEST(PiecewiseTest, GivesRanksBeyondTheMeasuredTheMeanLink) {
    const auto made = network(two_protocols(3), 9);
    const auto whole_s = [&](int from, int to) {
        const auto cost = made.cost(from, to, 1 << 20);
        return cost.egress_s + cost.latency_s;
    };

    EXPECT_NEAR(whole_s(7, 8), (whole_s(0, 1) + whole_s(0, 2) + whole_s(1, 2)) / 3.0, 1e-12);
}

TEST(SpacedMessageTest, RestsAfterAMessageThatIsThereBeforeTheNextMayFollow) {
    const auto cost = spaced_message(2.0, 3.0, 1.0, 1.0);

    EXPECT_EQ(cost.egress_s, 2.0);
    EXPECT_EQ(cost.rest_s, 1.0);
    EXPECT_EQ(cost.send_s + cost.receive_s + cost.latency_s, 0.0);
}

TEST(SpacedMessageTest, GivesAProcessorNoMoreThanTheInterval) {
    EXPECT_EQ(spaced_message(5.0, 1.0, 2.0, 3.0).receive_s, 1.0);
    EXPECT_EQ(spaced_message(5.0, 1.0, 2.0, 3.0).send_s, 1.0);
}

}  // namespace
}  // namespace lanewise::model
