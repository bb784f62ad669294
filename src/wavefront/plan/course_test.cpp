// SPDX-License-Identifier: BSD-3-Clause
//
// Courses against an enumeration of every iteration: random orders, lengths and limits.

#include "wavefront/plan/course.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace lanewise::wavefront {
namespace {

struct Trial {
    Directions directions;
    std::uint64_t done = 0;
    std::uint64_t iterations = 0;
    Rows rows = Rows::whole;
    std::uint64_t pause = 0;

    Direction at(std::uint64_t i) const { return directions[(done + i) % directions.size()]; }
    bool turns(std::uint64_t i) const {
        if (pause > 0 && (done + i) % pause == 0) return true;
        return rows == Rows::tiled ? !(at(i) == at(i - 1)) : at(i).up != at(i - 1).up;
    }
    std::vector<std::uint64_t> chains() const {
        std::vector<std::uint64_t> lengths{1};
        for (std::uint64_t i = 1; i < iterations; ++i) {
            if (turns(i))
                lengths.push_back(1);
            else
                ++lengths.back();
        }
        return lengths;
    }
};

Trial draw(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Trial trial;
    trial.directions.resize(1 + random() % 7);
    // Long chains need directions that are alike.
    for (auto& one : trial.directions) one = {.up = random() % 3 == 0, .left = random() % 3 == 0};
    trial.done = random() % 20;
    trial.iterations = 1 + random() % 60;
    trial.rows = random() % 2 ? Rows::whole : Rows::tiled;
    if (random() % 2) trial.pause = 1 + random() % 12;
    return trial;
}

TEST(CourseTest, HasOnePassOfAllIterationsHoweverManyTheyAre) {
    const auto most = std::numeric_limits<std::uint64_t>::max();
    const Course course({Direction{}}, 0, most, Rows::whole, 0);

    EXPECT_EQ(course.passes(most), 1u);
    EXPECT_EQ(course.passes(2), most / 2 + 1);
    EXPECT_EQ(course.waves_from(0, most), most);
    EXPECT_EQ(course.waves_of_longest_pass(most), most);
}

TEST(CourseTest, ChainsAreThoseOfTheIterationsOneByOne) {
    for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
        const auto trial = draw(seed);
        const auto waves = 1 + seed % 9;
        const Course course(trial.directions, trial.done, trial.iterations, trial.rows,
                            trial.pause);
        std::uint64_t at = 0;
        std::uint64_t passes = 0;
        std::uint64_t longest_pass = 0;
        const auto chains = trial.chains();
        for (const auto length : chains) {
            EXPECT_EQ(course.chain(at), length) << "seed " << seed;
            for (const auto end = at + length; at < end; ++passes) {
                const auto count = course.waves_from(at, waves);
                ASSERT_GE(count, 1u);
                EXPECT_LE(count, waves);
                longest_pass = std::max(longest_pass, count);
                at += count;
                EXPECT_LE(at, end) << "a pass turns, seed " << seed;
            }
        }
        std::uint64_t turns = 0;
        for (std::uint64_t i = 1; i < trial.iterations; ++i)
            turns += course.direction(i).up != course.direction(i - 1).up ? 1U : 0U;
        EXPECT_EQ(course.turns(), turns) << "seed " << seed;
        EXPECT_EQ(course.longest_chain(), *std::max_element(chains.begin(), chains.end()));
        EXPECT_EQ(course.passes(waves), passes) << "seed " << seed;
        EXPECT_EQ(course.waves_of_longest_pass(waves), longest_pass) << "seed " << seed;
    }
}

TEST(CourseTest, SpreadsIterationsEvenlyOverPasses) {
    const Course course({Direction{}}, 0, 64, Rows::whole);
    EXPECT_EQ(course.passes(25), 3u);
    EXPECT_EQ(course.waves_from(0, 25), 22u);
    EXPECT_EQ(course.waves_from(22, 25), 21u);
    EXPECT_EQ(course.waves_from(43, 25), 21u);
}

TEST(CourseTest, NamesOfDirectionsAreReadAndWritten) {
    for (const auto *text : {"down-right", "down-left", "up-left", "up-right", "symmetric",
                             "fast-sweeping", "up-left,up-left,down-right"}) {
        const auto directions = parse_directions(text);
        ASSERT_TRUE(directions) << text;
        EXPECT_EQ(directions_text(*directions), text);
    }
    EXPECT_EQ(parse_directions("forward,backward")->size(), 2u);
    EXPECT_EQ(*parse_directions("forward,backward"), *parse_directions("symmetric"));
    EXPECT_EQ(parse_directions("down-rigth").failure().sentence,
              "unknown direction \"down-rigth\"; did you mean down-right?");
    EXPECT_FALSE(parse_directions(""));
    EXPECT_FALSE(parse_directions("symmetric,"));
}

}  // namespace
}  // namespace lanewise::wavefront
