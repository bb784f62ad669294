// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/fused_steps.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Schedule;
using model::Slice;
using model::Step;
using model::StepKind;

constexpr Slice send{Place::send, 0};
constexpr Slice result{Place::receive, 0};
constexpr Slice scratch{Place::scratch, 0};

void expect_fused(const Schedule& schedule, const FusedSteps& expected) {
    const auto fused = fused_with_next(schedule, 0);
    ASSERT_TRUE(fused);
    EXPECT_EQ(fused->left, expected.left);
    EXPECT_EQ(fused->right, expected.right);
    EXPECT_EQ(fused->result, expected.result);
}

TEST(FusedStepsTest, AnOperandThatMustStayIsNotCopiedByItself) {
    Builder steps;
    steps.copy(send, result, 4);
    steps.reduce(scratch, result, 4);

    expect_fused(steps.finish(), {.left = scratch, .right = send, .result = result});
}

TEST(FusedStepsTest, AResultIsWrittenWhereItWouldBeCopied) {
    Builder steps;
    steps.reduce(send, scratch, 4);
    steps.copy(scratch, result, 4);

    expect_fused(steps.finish(), {.left = send, .right = scratch, .result = result});
}

TEST(FusedStepsTest, AResultThatIsSentLaterStaysWhereItWasReduced) {
    Builder steps;
    steps.reduce(send, scratch, 4);
    steps.copy(scratch, result, 4);
    steps.send(1, scratch.at(3), 1);

    EXPECT_FALSE(fused_with_next(steps.finish(), 0));
}

TEST(FusedStepsTest, AResultThatIsOverwrittenBeforeItIsReadIsWrittenElsewhere) {
    Builder steps;
    steps.reduce(send, scratch, 4);
    steps.copy(scratch, result, 4);
    steps.receive(1, scratch, 4);
    steps.send(1, scratch, 4);

    EXPECT_TRUE(fused_with_next(steps.finish(), 0));
}

TEST(FusedStepsTest, PartsOfOtherSizesOrAtOtherPlacesAreNotFused) {
    Builder shorter;
    shorter.copy(send, result, 3);
    shorter.reduce(scratch, result, 4);
    Builder beside;
    beside.reduce(send, scratch, 4);
    beside.copy(scratch.at(1), result, 4);
    Builder by_the_program;
    by_the_program.reduce(scratch, result, 4);
    by_the_program.copy(result, send, 4);

    EXPECT_FALSE(fused_with_next(shorter.finish(), 0));
    EXPECT_FALSE(fused_with_next(beside.finish(), 0));
    EXPECT_FALSE(fused_with_next(by_the_program.finish(), 0));
}

// Memory in which each unit holds the expression that it came from.
class Machine {
  public:
    static constexpr int units = 6;

    explicit Machine(const Schedule& schedule) : schedule_(schedule) {
        for (std::size_t place = 0; place < memory_.size(); ++place) {
            for (int i = 0; i < units; ++i) memory_[place][at(i)] = name("srx"[place], i);
        }
    }

    // What is sent, and what the receive buffer holds at the end.
    std::vector<std::string> run(bool fuses) {
        for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
            const auto fused = fuses ? fused_with_next(schedule_, i) : std::nullopt;
            if (fused) {
                run_fused(*fused, schedule_.steps[i++].count);
            } else {
                run_step(schedule_.steps[i]);
            }
        }
        seen_.insert(seen_.end(), memory_[1].begin(), memory_[1].end());
        return seen_;
    }

  private:
    static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
    static std::string name(char place, std::int64_t i) { return place + std::to_string(i); }
    std::string& unit(Slice slice, std::int64_t i) {
        return memory_[static_cast<std::size_t>(slice.place)][at(slice.offset + i)];
    }

    void run_step(const Step& step) {
        for (std::int64_t i = 0; i < step.count; ++i) {
            switch (step.kind) {
                case StepKind::send: seen_.push_back(unit(step.from, i)); break;
                case StepKind::receive: unit(step.to, i) = name('m', ++received_); break;
                case StepKind::copy: unit(step.to, i) = unit(step.from, i); break;
                case StepKind::reduce:
                    unit(step.to, i) = "(" + unit(step.from, i) + unit(step.to, i) + ")";
                    break;
            }
        }
    }

    void run_fused(const FusedSteps& fused, std::int64_t count) {
        std::vector<std::string> results;
        for (std::int64_t i = 0; i < count; ++i) {
            results.push_back("(" + unit(fused.left, i) + unit(fused.right, i) + ")");
        }
        for (std::int64_t i = 0; i < count; ++i) unit(fused.result, i) = results[at(i)];
    }

    const Schedule& schedule_;
    std::array<std::array<std::string, units>, 3> memory_;
    std::vector<std::string> seen_;
    int received_ = 0;
};

Slice any_slice(std::mt19937& random, int count, bool writable) {
    const auto place = writable ? 1 + random() % 2 : random() % 3;
    return {
        static_cast<Place>(place),
        static_cast<std::int64_t>(random() % static_cast<unsigned>(Machine::units - count + 1))};
}

// One operand of a copy or a reduction lies apart from the other, as an algorithm has to see to.
Slice slice_apart(std::mt19937& random, int count, Slice from) {
    for (;;) {
        const auto to = any_slice(random, count, true);
        const auto distance = std::abs(to.offset - from.offset);
        if (to.place != from.place || distance >= count) return to;
    }
}

Schedule any_schedule(std::mt19937& random) {
    Builder steps;
    const int length = 2 + static_cast<int>(random() % 8);
    Slice last = scratch;
    const int count = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < length; ++i) {
        const int units = random() % 4 == 0 ? 1 : count;
        const bool fits = last.offset + units <= Machine::units;
        const auto from = fits && random() % 2 == 0 ? last : any_slice(random, units, false);
        switch (random() % 6) {
            case 0: steps.send(1, from, units); break;
            case 1: steps.receive(1, last = any_slice(random, units, true), units); break;
            case 2:
            case 3: steps.copy(from, last = slice_apart(random, units, from), units); break;
            default: {
                const bool stays = fits && from.place != last.place;
                steps.reduce(from, last = stays ? last : slice_apart(random, units, from), units);
            }
        }
    }
    return steps.finish();
}

TEST(FusedStepsTest, NothingThatIsSentOrReceivedDependsOnFusing) {
    std::mt19937 random(5);
    int fused = 0;
    for (int trial = 0; trial < 5000; ++trial) {
        const auto schedule = any_schedule(random);
        for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
            fused += fused_with_next(schedule, i) ? 1 : 0;
        }
        ASSERT_EQ(Machine(schedule).run(true), Machine(schedule).run(false)) << trial;
    }
    EXPECT_GT(fused, 300);
}

}  // namespace
}  // namespace lanewise::collectives
