// SPDX-License-Identifier: BSD-3-Clause
//
// The checker itself: one broken schedule for each thing that can be wrong.

#include "collectives/checker/checker.hpp"

#include <gmock/gmock.h>

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Schedule;
using model::Slice;
using testing::HasSubstr;

constexpr Slice sent{Place::send, 0};
constexpr Slice received{Place::receive, 0};

// One function a rank writes its steps down.
using Steps = std::function<void(Builder&)>;

std::string fault_of(const Trial& trial, const std::vector<Steps>& ranks,
                     Sends sends = Sends::rendezvous) {
    std::vector<Schedule> schedules;
    for (const auto& write : ranks) {
        Builder steps;
        write(steps);
        schedules.push_back(steps.finish());
    }
    Checker checker;
    return checker.fault(trial, schedules, sends);
}

Trial trial_of(Collective collective, std::int64_t count, int ranks = 2) {
    Trial trial{.collective = collective, .ranks = ranks};
    trial.count = count;
    return trial;
}

const Steps nothing = [](Builder&) {};
const Steps takes_four = [](Builder& steps) { steps.receive(0, received, 4); };
const Steps gives_four = [](Builder& steps) { steps.send(1, received, 4); };

// Rank 0 and 1 of an allgather of one unit; `first` says who begins with what.
Steps sends_then_receives(int me) {
    return [me](Builder& steps) {
        const auto copied = steps.copy(sent, received.at(me), 1);
        const auto gone = steps.send(1 - me, sent, 1, {copied});
        steps.receive(1 - me, received.at(1 - me), 1, {gone});
    };
}

TEST(CheckerTest, FindsNothingWrongWithARightSchedule) {
    EXPECT_EQ(fault_of(trial_of(Collective::bcast, 4), {gives_four, takes_four}), "");
}

TEST(CheckerTest, FindsThatSendsWaitForOneAnother) {
    const auto trial = trial_of(Collective::allgather, 1);

    const auto fault = fault_of(trial, {sends_then_receives(0), sends_then_receives(1)});

    EXPECT_THAT(fault, HasSubstr("deadlock: rank 0 waits for step 1 (a send of 1 units"));
}

TEST(CheckerTest, LetsEagerSendsPassWhereOthersDeadlock) {
    const auto trial = trial_of(Collective::allgather, 1);

    EXPECT_EQ(fault_of(trial, {sends_then_receives(0), sends_then_receives(1)}, Sends::eager), "");
}

TEST(CheckerTest, FindsASendThatNobodyReceives) {
    const auto trial = trial_of(Collective::bcast, 4, 3);
    const Steps gives_both = [](Builder& steps) {
        steps.send(1, received, 4);
        steps.send(2, received, 4);
        steps.signal(2);
    };

    for (const auto sends : {Sends::rendezvous, Sends::eager}) {
        EXPECT_THAT(fault_of(trial, {gives_both, takes_four, takes_four}, sends),
                    HasSubstr("rank 0: step 2 (a send of 0 units to rank 2) is never met"));
    }
}

TEST(CheckerTest, FindsThatARankWaitsForWhatIsNeverSent) {
    const Steps hopes = [](Builder& steps) {
        const auto here = steps.receive(0, received, 4);
        steps.copy(received, steps.scratch(4), 4, {here});
    };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {nothing, hopes}),
                HasSubstr("rank 1 waits for step 0 (a receive of 4 units from rank 0), which"));
}

TEST(CheckerTest, FindsCountsThatDiffer) {
    const Steps takes_three = [](Builder& steps) { steps.receive(0, received, 3); };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {gives_four, takes_three}),
                HasSubstr("a send of 4 units to rank 1) meets rank 1"));
}

TEST(CheckerTest, FindsUnitsThatNobodyDelivers) {
    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {nothing, nothing}),
                HasSubstr("rank 1: units 0 to 4 of the receive buffer are not all filled"));
}

TEST(CheckerTest, FindsTheWrongBlock) {
    const Steps gives_its_own = [](Builder& steps) {
        steps.send(1, sent, 4);
        steps.copy(sent, received, 4);
    };

    EXPECT_THAT(fault_of(trial_of(Collective::scatter, 4), {gives_its_own, takes_four}),
                HasSubstr("rank 1: unit 0 of the receive buffer is unit 0 of rank 0, not unit 4"));
}

TEST(CheckerTest, FindsScratchMemoryThatIsReadBeforeItIsWritten) {
    const Steps gives_scratch = [](Builder& steps) { steps.send(1, steps.scratch(4), 4); };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {gives_scratch, takes_four}),
                HasSubstr("rank 0: step 0 (a send of 4 units to rank 1) reads what was never"));
}

TEST(CheckerTest, FindsTwoReceivesIntoTheSameUnits) {
    const Steps gives_twice = [](Builder& steps) {
        steps.send(1, received, 4);
        steps.send(1, received, 4);
    };
    const Steps takes_twice = [](Builder& steps) {
        steps.receive(0, received, 4);
        steps.receive(0, received, 4);
    };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {gives_twice, takes_twice}),
                HasSubstr("rank 1: step 1 (a receive of 4 units from rank 0) races with step 0"));
}

TEST(CheckerTest, FindsThatTheSourceOfASendIsOverwritten) {
    const Steps passes_on = [](Builder& steps) {
        const auto here = steps.receive(0, received, 4);
        steps.send(2, received, 4, {here});
        steps.receive(0, received, 4);
    };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4, 3), {nothing, passes_on, nothing}),
                HasSubstr("races with step 1, which may still be under way"));
}

TEST(CheckerTest, FindsACopyOfWhatMayNotHaveArrived) {
    const Steps copies_at_once = [](Builder& steps) {
        steps.receive(0, received, 4);
        steps.copy(received, steps.scratch(4), 4);
    };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {gives_four, copies_at_once}),
                HasSubstr("rank 1: step 1 (a copy of 4 units) races with step 0"));
}

TEST(CheckerTest, FindsACopyThatOverlapsItself) {
    const Steps shifts = [](Builder& steps) { steps.copy(received, received.at(1), 3); };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {shifts, takes_four}),
                HasSubstr("overlaps itself"));
}

TEST(CheckerTest, FindsWhatGoesWrongOnlyInPlace) {
    auto trial = trial_of(Collective::allreduce, 1);
    trial.in_order = false;
    const auto exchanges = [](int me) {
        return [me](Builder& steps) {
            const auto here = steps.receive(1 - me, received, 1);
            const auto gone = steps.send(1 - me, sent, 1);
            steps.reduce(sent, received, 1, {here, gone});
        };
    };

    EXPECT_EQ(fault_of(trial, {exchanges(0), exchanges(1)}), "");
    trial.in_place = true;
    EXPECT_THAT(fault_of(trial, {exchanges(0), exchanges(1)}), HasSubstr("races with step 0"));
}

TEST(CheckerTest, FindsStepsOutsideOfTheirBuffers) {
    const Steps too_far = [](Builder& steps) { steps.receive(0, received.at(1), 4); };
    const Steps not_there = [](Builder& steps) { steps.send(1, sent, 4); };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {gives_four, too_far}),
                HasSubstr("reaches out of the receive buffer of 4 units: offset 1"));
    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {not_there, takes_four}),
                HasSubstr("reaches out of the send buffer of 0 units"));
}

TEST(CheckerTest, FindsThatTheSendBufferIsWritten) {
    const Steps takes_wrongly = [](Builder& steps) { steps.receive(1, sent, 4); };

    EXPECT_THAT(fault_of(trial_of(Collective::scatter, 4), {takes_wrongly, nothing}),
                HasSubstr("writes to the send buffer"));
}

TEST(CheckerTest, FindsUnitsBetweenBlocksThatAreWritten) {
    auto trial = trial_of(Collective::gatherv, 0, 1);
    trial.counts = {2};
    trial.offsets = {1};
    const Steps too_much = [](Builder& steps) {
        steps.copy(sent, received.at(1), 2);
        steps.copy(sent, received, 1);
    };

    EXPECT_THAT(fault_of(trial, {too_much}), HasSubstr("is written beside its blocks"));
}

TEST(CheckerTest, FindsPeersThatDoNotExist) {
    const Steps to_nobody = [](Builder& steps) { steps.send(2, received, 4); };
    const Steps to_itself = [](Builder& steps) { steps.send(0, received, 4); };

    for (const auto& wrong : {to_nobody, to_itself}) {
        EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {wrong, takes_four}),
                    HasSubstr("has no such peer"));
    }
}

TEST(CheckerTest, FindsAStepThatWaitsForALaterOne) {
    const Steps waits = [](Builder& steps) { steps.send(1, received, 4, {1}); };

    EXPECT_THAT(fault_of(trial_of(Collective::bcast, 4), {waits, takes_four}),
                HasSubstr("waits for step 1, which is not earlier"));
}

const Steps gives_its_vector = [](Builder& steps) { steps.send(0, sent, 1); };

TEST(CheckerTest, FindsOperandsInTheWrongOrderOnlyWhereOrderMatters) {
    auto trial = trial_of(Collective::reduce, 1);
    const Steps reduces_backwards = [](Builder& steps) {
        const auto copied = steps.copy(sent, received, 1);
        const auto other = steps.scratch(1);
        const auto here = steps.receive(1, other, 1);
        steps.reduce(other, received, 1, {copied, here});
    };

    EXPECT_THAT(fault_of(trial, {reduces_backwards, gives_its_vector}),
                HasSubstr("rank 0: step 2 (a reduction of 1 units) combines contributions out"));
    trial.in_order = false;
    EXPECT_EQ(fault_of(trial, {reduces_backwards, gives_its_vector}), "");
}

TEST(CheckerTest, FindsThatAContributionIsMissingOrThereTwice) {
    auto trial = trial_of(Collective::reduce, 1);
    trial.in_order = false;
    const Steps only_its_own = [](Builder& steps) {
        steps.receive(1, steps.scratch(1), 1);
        steps.copy(sent, received, 1);
    };
    const Steps its_own_twice = [](Builder& steps) {
        steps.receive(1, steps.scratch(1), 1);
        const auto copied = steps.copy(sent, received, 1);
        steps.reduce(sent, received, 1, {copied});
    };

    for (const auto& wrong : {only_its_own, its_own_twice}) {
        EXPECT_THAT(fault_of(trial, {wrong, gives_its_vector}),
                    HasSubstr("rank 0: element 0 of the result is not from each rank once"));
    }
}

// Rank 0 adds the halves of what it gets in different orders before it adds all of it at once.
TEST(CheckerTest, FollowsOperandsWhosePartsCameAboutDifferently) {
    auto trial = trial_of(Collective::reduce, 4, 3);
    trial.in_order = false;
    const Steps gives_its_four = [](Builder& steps) { steps.send(0, sent, 4); };
    const auto adds = [](std::int64_t of_upper_half) {
        return [of_upper_half](Builder& steps) {
            const auto copied = steps.copy(sent, received, 4);
            const auto one = steps.scratch(4);
            const auto two = steps.scratch(4);
            const auto here = steps.receive(1, one, 4);
            const auto here_too = steps.receive(2, two, 4);
            const auto lower = steps.reduce(two, received, 2, {copied, here_too});
            const auto upper = steps.reduce(two.at(2), one.at(2), of_upper_half, {here, here_too});
            steps.reduce(one, received, 4, {lower, upper, copied, here});
        };
    };

    EXPECT_EQ(fault_of(trial, {adds(2), gives_its_four, gives_its_four}), "");
    EXPECT_THAT(fault_of(trial, {adds(1), gives_its_four, gives_its_four}),
                HasSubstr("rank 0: element 3 of the result is not from each rank once"));
}

TEST(CheckerTest, FindsThatDifferentElementsAreCombined) {
    const Steps mixes = [](Builder& steps) {
        const auto other = steps.scratch(2);
        const auto here = steps.receive(1, other, 2);
        steps.reduce(sent.at(1), other, 1, {here});
    };
    const Steps gives_two = [](Builder& steps) { steps.send(0, sent, 2); };

    EXPECT_THAT(fault_of(trial_of(Collective::reduce, 2), {mixes, gives_two}),
                HasSubstr("combines different elements"));
}

TEST(CheckerTest, FindsThatRanksWouldDisagreeInTheLastBit) {
    // Every rank adds up what it has from all, each in the order of its own number.
    auto trial = trial_of(Collective::allreduce, 1, 3);
    trial.in_order = false;
    const auto adds_up = [](int me) {
        return [me](Builder& steps) {
            const auto others = steps.scratch(2);
            const auto first = steps.receive((me + 1) % 3, others, 1);
            const auto second = steps.receive((me + 2) % 3, others.at(1), 1);
            const auto gone = steps.send((me + 2) % 3, sent, 1);
            const auto gone_too = steps.send((me + 1) % 3, sent, 1);
            const auto once = steps.reduce(sent, others, 1, {first});
            const auto twice = steps.reduce(others, others.at(1), 1, {once, second});
            steps.copy(others.at(1), received, 1, {twice, gone, gone_too});
        };
    };

    EXPECT_THAT(fault_of(trial, {adds_up(0), adds_up(1), adds_up(2)}),
                HasSubstr("element 0 of the result is bracketed otherwise than on rank 0"));
}

TEST(CheckerTest, FindsAResultThatIsNotInTheBracketingThatWasDeclared) {
    // ((0 1) 2) is balanced, and (0 (1 2)) is from the right.
    auto trial = trial_of(Collective::reduce, 1, 3);
    const Steps balanced = [](Builder& steps) {
        const auto others = steps.scratch(2);
        const auto first = steps.receive(1, others, 1);
        const auto second = steps.receive(2, others.at(1), 1);
        const auto once = steps.reduce(sent, others, 1, {first});
        const auto twice = steps.reduce(others, others.at(1), 1, {once, second});
        steps.copy(others.at(1), received, 1, {twice});
    };
    const std::vector<Steps> ranks = {balanced, gives_its_vector, gives_its_vector};

    trial.bracketing = Bracketing::balanced;
    EXPECT_EQ(fault_of(trial, ranks), "");
    trial.bracketing = Bracketing::from_the_right;
    EXPECT_THAT(fault_of(trial, ranks), HasSubstr("element 0 of the result is not bracketed from"));
    trial.ranks = 4;
    trial.bracketing = Bracketing::balanced;
    const Steps in_turn = [](Builder& steps) {
        const auto others = steps.scratch(3);
        model::StepId ready = model::no_step;
        for (int rank = 1; rank < 4; ++rank) {
            const auto part = others.at(rank - 1);
            const auto here = steps.receive(rank, part, 1);
            ready = steps.reduce(rank == 1 ? sent : others.at(rank - 2), part, 1, {ready, here});
        }
        steps.copy(others.at(2), received, 1, {ready});
    };
    EXPECT_THAT(fault_of(trial, {in_turn, gives_its_vector, gives_its_vector, gives_its_vector}),
                HasSubstr("element 0 of the result is not in the balanced bracketing"));
}

// Rank 0 gives its unit to rank 1, which makes its result of both.
std::vector<Steps> scans(Slice left, Slice right) {
    const Steps gives = [](Builder& steps) {
        steps.copy(sent, received, 1);
        steps.send(1, sent, 1);
    };
    const Steps combines = [=](Builder& steps) {
        const auto came = steps.scratch(2);
        const auto here = steps.receive(0, came, 1);
        const auto own = steps.copy(sent, came.at(1), 1);
        const auto added = steps.reduce(left, right, 1, {here, own});
        steps.copy(right, received, 1, {added});
    };
    return {gives, combines};
}

TEST(CheckerTest, FindsNothingWrongWithARightScan) {
    const Slice scratch{Place::scratch, 0};

    EXPECT_EQ(fault_of(trial_of(Collective::scan, 1), scans(scratch, scratch.at(1))), "");
}

TEST(CheckerTest, FindsAScanThatPutsALowerRankToTheRight) {
    const Slice scratch{Place::scratch, 0};

    EXPECT_THAT(fault_of(trial_of(Collective::scan, 1), scans(scratch.at(1), scratch)),
                HasSubstr("combines contributions out of order"));
}

TEST(CheckerTest, FindsAnExscanThatHasTheOwnContribution) {
    const Steps gives = [](Builder& steps) { steps.send(1, sent, 1); };
    const Slice scratch{Place::scratch, 0};

    EXPECT_THAT(
        fault_of(trial_of(Collective::exscan, 1), {gives, scans(scratch, scratch.at(1)).back()}),
        HasSubstr("rank 1: element 0 of the result is not from each rank once"));
}

TEST(CheckerTest, FindsWhatIsWrittenOnTheFirstRankOfAnExscan) {
    const Steps gives = [](Builder& steps) {
        steps.send(1, sent, 1);
        steps.copy(sent, received, 1);
    };
    const Steps takes = [](Builder& steps) { steps.receive(0, received, 1); };

    EXPECT_THAT(fault_of(trial_of(Collective::exscan, 1), {gives, takes}),
                HasSubstr("rank 0: step 1 (a copy of 1 units) reaches out of the receive buffer"));
}

TEST(CheckerTest, FindsAScanThatIsNotBracketedFromTheLeft) {
    auto trial = trial_of(Collective::scan, 1, 3);
    const Steps gives_both = [](Builder& steps) {
        steps.copy(sent, received, 1);
        steps.send(1, sent, 1);
        steps.send(2, sent, 1);
    };
    const Steps passes_on = [](Builder& steps) {
        const auto came = steps.scratch(1);
        const auto here = steps.receive(0, came, 1);
        steps.send(2, sent, 1);
        const auto own = steps.copy(sent, received, 1);
        steps.reduce(came, received, 1, {here, own});
    };
    // x0 op (x1 op x2).
    const Steps folds = [](Builder& steps) {
        const auto came = steps.scratch(2);
        const auto first = steps.receive(0, came, 1);
        const auto second = steps.receive(1, came.at(1), 1);
        const auto own = steps.copy(sent, received, 1);
        const auto two = steps.reduce(came.at(1), received, 1, {second, own});
        steps.reduce(came, received, 1, {first, two});
    };

    EXPECT_EQ(fault_of(trial, {gives_both, passes_on, folds}), "");
    trial.bracketing = Bracketing::from_the_right;
    EXPECT_EQ(fault_of(trial, {gives_both, passes_on, folds}), "");
    trial.bracketing = Bracketing::from_the_left;
    EXPECT_THAT(fault_of(trial, {gives_both, passes_on, folds}),
                HasSubstr("rank 2: element 0 of the result is not bracketed from the left"));
}

TEST(CheckerTest, FindsABarrierThatDoesNotHoldEverybody) {
    const auto trial = trial_of(Collective::barrier, 0, 3);
    const auto tells_the_next = [](int me) {
        return [me](Builder& steps) {
            steps.await((me + 2) % 3);
            steps.signal((me + 1) % 3);
        };
    };

    EXPECT_THAT(fault_of(trial, {tells_the_next(0), tells_the_next(1), tells_the_next(2)}),
                HasSubstr("rank 0 may leave before rank 1 has entered"));
}

}  // namespace
}  // namespace lanewise::collectives
