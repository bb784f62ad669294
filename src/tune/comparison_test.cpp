// SPDX-License-Identifier: BSD-3-Clause

#include "tune/comparison.hpp"

#include <gtest/gtest.h>

#include <map>

namespace lanewise::tools {
namespace {

/* Times that scatter by a few per cent around a median. */
class World {
  public:
    explicit World(std::vector<double> medians_s) : medians_s_(std::move(medians_s)) {}

    std::vector<double> run(const Heat& heat) {
        std::lognormal_distribution<double> noise(0.0, 0.05);
        std::vector<double> values;
        for (std::size_t i = 0; i < heat.count; ++i) {
            values.push_back(medians_s_[heat.entrant] * noise(random_));
        }
        return values;
    }

  private:
    std::vector<double> medians_s_;
    std::mt19937_64 random_{7};
};

Race run_whole(const std::vector<double>& medians_s, std::vector<bool> pruned = {},
               RaceRule rule = {}) {
    pruned.resize(medians_s.size());
    Race race(rule, pruned, 1);
    World world(medians_s);
    for (auto heats = race.next_round(); !heats.empty(); heats = race.next_round()) {
        for (const auto& heat : heats) race.add(heat.entrant, world.run(heat));
        race.end_round();
    }
    return race;
}

TEST(TakeTurns, GivesEveryEntrantTheSameNumberOfRepetitions) {
    std::mt19937_64 random(3);
    for (std::size_t count = 1; count < 100; ++count) {
        const std::vector<std::size_t> entrants = {0, 2, 5};
        std::map<std::size_t, std::size_t> done;

        for (const auto& heat : take_turns(entrants, count, 20, random)) {
            EXPECT_LE(heat.count, 20u);
            EXPECT_GT(heat.count, 0u);
            done[heat.entrant] += heat.count;
        }

        EXPECT_EQ(done, (std::map<std::size_t, std::size_t>{{0, count}, {2, count}, {5, count}}));
    }
}

TEST(TakeTurns, RunsEverySecondPassBackwards) {
    std::mt19937_64 random(3);
    const std::vector<std::size_t> entrants = {0, 1, 2, 3, 4};

    const auto heats = take_turns(entrants, 10, 5, random);

    ASSERT_EQ(heats.size(), 10u);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(heats[i].entrant, heats[9 - i].entrant);
}

TEST(Race, FindsTheFastestAndWhoIsNoFaster) {
    const auto race = run_whole({10e-6, 7e-6, 5.5e-6, 10e-6, 9.9e-6});

    EXPECT_EQ(race.winners(), (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(race.standing(3), Standing::lost);
    EXPECT_EQ(race.standing(4), Standing::lost);
}

TEST(Race, GivesUpTheHopelessAfterTheFirstRound) {
    const auto race = run_whole({10e-6, 40e-6, 9e-6});

    EXPECT_EQ(race.standing(1), Standing::hopeless);
    EXPECT_EQ(race.values(1).size(), RaceRule{}.repetitions_min);
    EXPECT_GT(race.values(2).size(), race.values(1).size());
}

TEST(Race, RunsWhatIsPredictedHopelessOnceAndBriefly) {
    const auto race = run_whole({10e-6, 1e-6, 7e-6}, {false, true, false});

    EXPECT_EQ(race.standing(1), Standing::hopeless);
    EXPECT_EQ(race.values(1).size(), 5u);
    EXPECT_EQ(race.winners(), std::vector<std::size_t>{2});
}

TEST(Race, NeverWinsWithFewValues) {
    Race race({}, {false, false}, 1);
    for (const auto& heat : race.next_round()) {
        const std::vector<double> values(heat.count, heat.entrant == 0 ? 10e-6 : 1e-6);
        race.add(heat.entrant, values);
    }

    race.end_round();
    race.stop();

    EXPECT_EQ(race.standing(1), Standing::exhausted);
    EXPECT_TRUE(race.winners().empty());
}

TEST(Race, NeverExceedsTheMostRepetitions) {
    const auto race = run_whole({10e-6, 9.7e-6}, {}, {.repetitions_max = 70});

    EXPECT_EQ(race.values(0).size(), 70u);
    EXPECT_LE(race.values(1).size(), 70u);
}

TEST(Race, GoesOnWithoutWhoFailed) {
    Race race({}, {false, false, false}, 1);
    World world({10e-6, 5e-6, 6e-6});
    for (auto heats = race.next_round(); !heats.empty(); heats = race.next_round()) {
        for (const auto& heat : heats) {
            if (heat.entrant == 1) race.withdraw(1);
            if (heat.entrant != 1) race.add(heat.entrant, world.run(heat));
        }
        race.end_round();
    }

    EXPECT_EQ(race.standing(1), Standing::failed);
    EXPECT_EQ(race.winners(), std::vector<std::size_t>{2});
}

TEST(Race, LooksAtTheReferenceOnceWhereThereIsNoCandidate) {
    const auto race = run_whole({10e-6});

    EXPECT_EQ(race.values(0).size(), RaceRule{}.repetitions_min);
}

TEST(Race, SeldomCallsEqualsFaster) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Race race({}, std::vector<bool>(6), seed);
        std::mt19937_64 random(seed);
        std::lognormal_distribution<double> noise(0.0, 0.2);
        for (auto heats = race.next_round(); !heats.empty(); heats = race.next_round()) {
            for (const auto& heat : heats) {
                std::vector<double> values(heat.count);
                for (auto& value : values) value = 10e-6 * noise(random);
                race.add(heat.entrant, values);
            }
            race.end_round();
        }
        wrong += !race.winners().empty();
    }

    EXPECT_LE(wrong, 20);
}

}  // namespace
}  // namespace lanewise::tools
