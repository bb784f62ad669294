// SPDX-License-Identifier: BSD-3-Clause

#include "tune/comparison.hpp"

#include <gtest/gtest.h>

#include <map>

#include "testing/cases.hpp"

namespace lanewise::tune {
namespace {

/* Times that scatter by a few per cent around a median. */
class World {
  public:
    explicit World(std::vector<double> medians_s) : medians_s_(std::move(medians_s)) {}

    std::vector<double> run(const ScheduledBatch& scheduled) {
        std::lognormal_distribution<double> noise(0.0, 0.05);
        std::vector<double> values;
        for (std::size_t i = 0; i < scheduled.count; ++i) {
            values.push_back(medians_s_[scheduled.contender] * noise(random_));
        }
        return values;
    }

  private:
    std::vector<double> medians_s_;
    std::mt19937_64 random_{7};
};

Comparison run_whole(const std::vector<double>& medians_s, std::vector<bool> pruned = {},
                     ComparisonRule rule = {}) {
    pruned.resize(medians_s.size());
    Comparison comparison(rule, pruned, 1);
    World world(medians_s);
    for (auto batches = comparison.next_round(); !batches.empty();
         batches = comparison.next_round()) {
        for (const auto& scheduled : batches)
            comparison.add(scheduled.contender, world.run(scheduled));
        comparison.end_round();
    }
    return comparison;
}

TEST(TakeTurns, GivesEveryEntrantTheSameNumberOfRepetitions) {
    std::mt19937_64 random(3);
    for (std::size_t count = 1; count < 100; ++count) {
        const std::vector<std::size_t> contenders = {0, 2, 5};
        std::map<std::size_t, std::size_t> done;

        for (const auto& scheduled : interleave(contenders, count, 20, random)) {
            EXPECT_LE(scheduled.count, 20u);
            EXPECT_GT(scheduled.count, 0u);
            done[scheduled.contender] += scheduled.count;
        }

        EXPECT_EQ(done, (std::map<std::size_t, std::size_t>{{0, count}, {2, count}, {5, count}}));
    }
}

TEST(TakeTurns, RunsEverySecondPassBackwards) {
    std::mt19937_64 random(3);
    const std::vector<std::size_t> contenders = {0, 1, 2, 3, 4};

    const auto batches = interleave(contenders, 10, 5, random);

    ASSERT_EQ(batches.size(), 10u);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(batches[i].contender, batches[9 - i].contender);
}

TEST(Comparison, FindsTheFastestAndWhoIsNoFaster) {
    const auto comparison = run_whole({10e-6, 7e-6, 5.5e-6, 10e-6, 9.9e-6});

    EXPECT_EQ(comparison.winners(), (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(comparison.state(3), CandidateState::lost);
    EXPECT_EQ(comparison.state(4), CandidateState::lost);
}

TEST(Comparison, GivesUpTheHopelessAfterTheFirstRound) {
    const auto comparison = run_whole({10e-6, 40e-6, 9e-6});

    EXPECT_EQ(comparison.state(1), CandidateState::dominated);
    EXPECT_EQ(comparison.values(1).size(), ComparisonRule{}.repetitions_min);
    EXPECT_GT(comparison.values(2).size(), comparison.values(1).size());
}

TEST(Comparison, RunsWhatIsPredictedHopelessOnceAndBriefly) {
    const auto comparison = run_whole({10e-6, 1e-6, 7e-6}, {false, true, false});

    EXPECT_EQ(comparison.state(1), CandidateState::dominated);
    EXPECT_EQ(comparison.values(1).size(), 5u);
    EXPECT_EQ(comparison.winners(), std::vector<std::size_t>{2});
}

TEST(Comparison, NeverWinsWithFewValues) {
    Comparison comparison({}, {false, false}, 1);
    for (const auto& scheduled : comparison.next_round()) {
        const std::vector<double> values(scheduled.count, scheduled.contender == 0 ? 10e-6 : 1e-6);
        comparison.add(scheduled.contender, values);
    }

    comparison.end_round();
    comparison.stop();

    EXPECT_EQ(comparison.state(1), CandidateState::exhausted);
    EXPECT_TRUE(comparison.winners().empty());
}

TEST(Comparison, NeverExceedsTheMostRepetitions) {
    const auto comparison = run_whole({10e-6, 9.7e-6}, {}, {.repetitions_max = 70});

    EXPECT_EQ(comparison.values(0).size(), 70u);
    EXPECT_LE(comparison.values(1).size(), 70u);
}

TEST(Comparison, GoesOnWithoutWhoFailed) {
    Comparison comparison({}, {false, false, false}, 1);
    World world({10e-6, 5e-6, 6e-6});
    for (auto batches = comparison.next_round(); !batches.empty();
         batches = comparison.next_round()) {
        for (const auto& scheduled : batches) {
            if (scheduled.contender == 1) comparison.withdraw(1);
            if (scheduled.contender != 1) comparison.add(scheduled.contender, world.run(scheduled));
        }
        comparison.end_round();
    }

    EXPECT_EQ(comparison.state(1), CandidateState::failed);
    EXPECT_EQ(comparison.winners(), std::vector<std::size_t>{2});
}

TEST(Comparison, ForgetsWhatACandidateGaveBeforeItFailed) {
    Comparison comparison({}, {false, false, false}, 1);
    World world({10e-6, 1e-6, 6e-6});
    for (const auto& scheduled : comparison.next_round()) {
        comparison.add(scheduled.contender, world.run(scheduled));
    }
    comparison.withdraw(1);
    comparison.end_round();

    EXPECT_TRUE(comparison.values(1).empty());
    EXPECT_EQ(comparison.state(1), CandidateState::failed);
    EXPECT_EQ(comparison.state(2), CandidateState::comparing) << "none is far behind who failed";
}

TEST(Comparison, LooksAtTheReferenceOnceWhereThereIsNoCandidate) {
    const auto comparison = run_whole({10e-6});

    EXPECT_EQ(comparison.values(0).size(), ComparisonRule{}.repetitions_min);
}

TEST(Comparison, SeldomCallsEqualsFaster) {
    int wrong = 0;
    const int seeds = lanewise::testing::cases(200, 50);
    for (int drawn = 0; drawn < seeds; ++drawn) {
        const auto seed = static_cast<std::uint64_t>(drawn);
        Comparison comparison({}, std::vector<bool>(6), seed);
        std::mt19937_64 random(seed);
        std::lognormal_distribution<double> noise(0.0, 0.2);
        for (auto batches = comparison.next_round(); !batches.empty();
             batches = comparison.next_round()) {
            for (const auto& scheduled : batches) {
                std::vector<double> values(scheduled.count);
                for (auto& value : values) value = 10e-6 * noise(random);
                comparison.add(scheduled.contender, values);
            }
            comparison.end_round();
        }
        wrong += !comparison.winners().empty();
    }

    EXPECT_LE(wrong, seeds / 10);
}

}  // namespace
}  // namespace lanewise::tune
