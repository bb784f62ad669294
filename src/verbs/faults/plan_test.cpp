// SPDX-License-Identifier: BSD-3-Clause
//
// What a plan decides follows from the seed and from what has occurred, and from nothing else.

#include "verbs/faults/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lanewise::verbs::faults {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Script script_of(const char *text) {
    Result<Script> read = read_script(text);
    EXPECT_TRUE(read) << (read ? "" : read.failure().sentence);
    return read ? *read : Script{};
}

Occurrence one(Place place, std::string_view name, std::string_view device = "lanewise0") {
    return {.place = place, .name = name, .device = device};
}

// Which of `count` occurrences meet a fault.
std::vector<int> hits(Plan& plan, int count, const char *name = "ibv_reg_mr") {
    std::vector<int> found;
    for (int i = 1; i <= count; ++i) {
        if (plan.decide(one(Place::call, name))) found.push_back(i);
    }
    return found;
}

TEST(FaultPlan, CountsOccurrencesOfWhatARuleNames) {
    Plan plan(script_of("seed=1\nplace=call name=ibv_reg_mr what=ENOMEM value=12 after=2 times=2"));
    EXPECT_FALSE(plan.decide(one(Place::call, "ibv_create_qp")));
    EXPECT_FALSE(plan.decide(one(Place::packet, "ibv_reg_mr")));
    EXPECT_THAT(hits(plan, 8), ElementsAre(3, 4));
}

TEST(FaultPlan, CountsOnlyWhatIsOnTheDeviceThatARuleNames) {
    Plan plan(script_of("place=call name=ibv_reg_mr what=ENOMEM device=lanewise1 after=1"));
    EXPECT_FALSE(plan.decide(one(Place::call, "ibv_reg_mr", "lanewise1")));
    EXPECT_FALSE(plan.decide(one(Place::call, "ibv_reg_mr")));
    EXPECT_TRUE(plan.decide(one(Place::call, "ibv_reg_mr", "lanewise1")));
}

TEST(FaultPlan, TakesEachSoManyth) {
    Plan plan(script_of("place=call what=ENOMEM after=1 every=3"));
    EXPECT_THAT(hits(plan, 11), ElementsAre(4, 7, 10));
}

TEST(FaultPlan, SaysWhatAndWhichOccurrence) {
    Plan plan(script_of("place=call what=EFAULT value=14 after=4"));
    hits(plan, 4, "ibv_post_send");
    const auto decision = plan.decide(one(Place::call, "ibv_post_send"));
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->occurrence, 5U);
    EXPECT_EQ(decision->fault->what, "EFAULT");
    EXPECT_EQ(decision->fault->value, 14U);
}

TEST(FaultPlan, TheSameSeedGivesTheSameFaultsAndAnotherGivesOthers) {
    const char *one = "seed=7\nplace=call what=ENOMEM probability=0.1";
    Plan first(script_of(one));
    Plan again(script_of(one));
    Plan other(script_of("seed=8\nplace=call what=ENOMEM probability=0.1"));
    const std::vector<int> found = hits(first, 5000);
    EXPECT_EQ(hits(again, 5000), found);
    EXPECT_NE(hits(other, 5000), found);
    EXPECT_NEAR(static_cast<double>(found.size()), 500, 70);
}

TEST(FaultPlan, WhatOneRuleDecidesDoesNotDependOnOthers) {
    const char *rule = "seed=7\nplace=call what=ENOMEM probability=0.2";
    Plan alone(script_of(rule));
    const std::string both = std::string(rule) + "\nplace=packet what=lose probability=0.5";
    Plan beside(script_of(both.c_str()));
    std::vector<int> found;
    for (int i = 1; i <= 200; ++i) {
        for (int k = 0; k < i % 4; ++k) beside.decide(one(Place::packet, "send"));
        if (beside.decide(one(Place::call, "ibv_reg_mr"))) found.push_back(i);
    }
    EXPECT_EQ(hits(alone, 200), found);
}

TEST(FaultPlan, ARuleForAnyCountsEachKindByItself) {
    Plan plan(script_of("place=completion what=IBV_WC_GENERAL_ERR after=1 times=1"));
    EXPECT_FALSE(plan.decide(one(Place::completion, "send")));
    EXPECT_FALSE(plan.decide(one(Place::completion, "receive")));
    EXPECT_EQ(plan.decide(one(Place::completion, "receive"))->occurrence, 2U);
    EXPECT_FALSE(plan.decide(one(Place::completion, "receive")));
    EXPECT_EQ(plan.decide(one(Place::completion, "send"))->occurrence, 2U);
}

TEST(FaultPlan, WhatARuleForAnyDecidesDoesNotDependOnTheOrderOfKinds) {
    const char *rule = "seed=7\nplace=call what=ENOMEM probability=0.2";
    Plan apart(script_of(rule));
    const std::vector<int> sends = hits(apart, 200, "ibv_post_send");
    const std::vector<int> receives = hits(apart, 200, "ibv_post_recv");
    Plan together(script_of(rule));
    std::vector<int> found;
    std::vector<int> other;
    for (int i = 1; i <= 200; ++i) {
        if (together.decide(one(Place::call, "ibv_post_recv"))) other.push_back(i);
        if (together.decide(one(Place::call, "ibv_post_send"))) found.push_back(i);
    }
    EXPECT_EQ(found, sends);
    EXPECT_EQ(other, receives);
    EXPECT_NE(sends, receives);
}

TEST(FaultPlan, TheFirstRuleThatFiresCountsAndTheOthersHaveSeenIt) {
    Plan plan(script_of("place=call what=ENOMEM times=1\nplace=call what=EINVAL after=1 times=1"));
    EXPECT_EQ(plan.decide(one(Place::call, "any"))->fault->what, "ENOMEM");
    EXPECT_EQ(plan.decide(one(Place::call, "any"))->fault->what, "EINVAL");
    EXPECT_FALSE(plan.decide(one(Place::call, "any")));
    EXPECT_TRUE(plan.concerns(Place::call));
    EXPECT_FALSE(plan.concerns(Place::connection));
}

TEST(FaultPlan, AReplayMeetsTheOccurrencesThatWereNotedAndKeepsTheNumberOfTheRule) {
    Plan plan(script_of("place=call name=ibv_reg_mr what=ENOMEM value=12 number=3 at=2,5,9"));
    EXPECT_THAT(hits(plan, 20), ElementsAre(2, 5, 9));
    Plan again(script_of("place=call what=ENOMEM number=3 at=1"));
    EXPECT_EQ(again.decide(one(Place::call, "ibv_post_send"))->rule, 3U);
}

TEST(FaultPlan, ARuleWithoutANumberHasThatOfItsPlace) {
    Plan plan(script_of("place=call what=ENOMEM times=1\nplace=call what=EINVAL times=1"));
    EXPECT_EQ(plan.decide(one(Place::call, "any"))->rule, 1U);
    EXPECT_EQ(plan.decide(one(Place::call, "any"))->rule, 2U);
}

TEST(FaultPlan, ALineThatIsNoRuleIsRefusedWithItsNumber) {
    for (const char *bad : {"seed=x", "place=call", "place=elsewhere what=lose", "what=lose",
                            "place=call what=ENOMEM every=0", "place=call what=ENOMEM after=-1",
                            "place=call what=ENOMEM times=many", "place=call what=ENOMEM at=",
                            "place=call what=ENOMEM at=2,2", "place=call what=ENOMEM at=1;2",
                            "place=call what=ENOMEM at=1,", "place=call what=ENOMEM at=0"}) {
        const Result<Script> read = read_script(std::string("seed=1\n") + bad);
        ASSERT_FALSE(read) << bad;
        EXPECT_THAT(read.failure().sentence, HasSubstr("line 2"));
    }
    EXPECT_THAT(script_of("").rules, IsEmpty());
}

// Which of the occurrences at these milliseconds meet a fault.
std::vector<int> hits_at(Plan& plan, const std::vector<int>& times_ms) {
    std::vector<int> found;
    for (const int time_ms : times_ms) {
        Occurrence call = one(Place::call, "ibv_post_send");
        call.time_us = static_cast<std::uint64_t>(time_ms) * 1000;
        if (plan.decide(call)) found.push_back(time_ms);
    }
    return found;
}

TEST(FaultPlan, LetsPassWhatOccursBeforeATime) {
    Plan plan(script_of("place=call what=ENOMEM after_us=20000 times=2"));
    EXPECT_THAT(hits_at(plan, {0, 5, 19, 20, 21, 90}), ElementsAre(20, 21));
}

TEST(FaultPlan, TakesOneInATimeAndThenTheFirstBehindIt) {
    Plan plan(script_of("place=call what=ENOMEM every_us=10000"));
    EXPECT_THAT(hits_at(plan, {3, 4, 12, 13, 14, 40, 49, 50}), ElementsAre(3, 13, 40, 50));
}

TEST(FaultPlan, CountsFromATimeAndTakesTurnsBehindACount) {
    Plan counting(script_of("place=call what=ENOMEM after_us=10000 every=2"));
    EXPECT_THAT(hits_at(counting, {1, 2, 3, 11, 12, 13, 14}), ElementsAre(12, 14));
    Plan timing(script_of("place=call what=ENOMEM after=2 every_us=10000"));
    EXPECT_THAT(hits_at(timing, {1, 2, 3, 4, 13, 14}), ElementsAre(3, 13));
}

TEST(FaultPlan, WhatARuleDidByTimeAReplayDoesByCountAtAnyTime) {
    Plan plan(script_of("place=call what=ENOMEM after_us=10000 every_us=10000"));
    std::string noted;
    for (const int time_ms : {1, 11, 12, 25, 60}) {
        Occurrence call = one(Place::call, "ibv_post_send");
        call.time_us = static_cast<std::uint64_t>(time_ms) * 1000;
        const auto decision = plan.decide(call);
        if (decision) noted += (noted.empty() ? "" : ",") + std::to_string(decision->occurrence);
    }
    EXPECT_EQ(noted, "2,4,5");
    Plan again(script_of(("place=call name=ibv_post_send what=ENOMEM at=" + noted).c_str()));
    EXPECT_THAT(hits(again, 9, "ibv_post_send"), ElementsAre(2, 4, 5));
}

TEST(FaultPlan, CountsOnlyWhatIsOnTheQueuePairThatARuleNames) {
    Plan plan(script_of("place=completion what=IBV_WC_GENERAL_ERR queue_pair=2 after=1"));
    const auto met = [&](std::uint64_t queue_pair) {
        return plan.decide({.place = Place::completion, .name = "send", .queue_pair = queue_pair})
            .has_value();
    };
    EXPECT_FALSE(met(2));
    EXPECT_FALSE(met(1));
    EXPECT_FALSE(met(0));
    EXPECT_TRUE(met(2));
}

TEST(PlanTest, ARuleForAPeerAndASizeCountsOnlyPacketsThatAreMeant) {
    const auto script =
        read_script("place=packet what=lose after=1 times=1 peer=10.0.0.2 bytes_min=100\n");
    ASSERT_TRUE(script);
    Plan plan(*script);
    const auto met = [&](std::string_view peer, std::uint64_t bytes) {
        return plan.decide({.place = Place::packet, .name = "send", .peer = peer, .bytes = bytes})
            .has_value();
    };
    EXPECT_FALSE(met("10.0.0.2", 100));
    EXPECT_FALSE(met("10.0.0.3", 100));
    EXPECT_FALSE(met("10.0.0.2", 99));
    EXPECT_TRUE(met("10.0.0.2", 200));
    EXPECT_FALSE(met("10.0.0.2", 200));
}

}  // namespace
}  // namespace lanewise::verbs::faults
