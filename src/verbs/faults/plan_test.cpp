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

// Which of `count` occurrences meet a fault.
std::vector<int> hits(Plan& plan, int count, const char *name = "ibv_reg_mr") {
    std::vector<int> found;
    for (int i = 1; i <= count; ++i) {
        if (plan.decide(Place::call, name, "lanewise0")) found.push_back(i);
    }
    return found;
}

TEST(FaultPlan, CountsOccurrencesOfWhatARuleNames) {
    Plan plan(script_of("seed=1\nplace=call name=ibv_reg_mr what=ENOMEM value=12 after=2 times=2"));
    EXPECT_FALSE(plan.decide(Place::call, "ibv_create_qp", "lanewise0"));
    EXPECT_FALSE(plan.decide(Place::packet, "ibv_reg_mr", "lanewise0"));
    EXPECT_THAT(hits(plan, 8), ElementsAre(3, 4));
}

TEST(FaultPlan, CountsOnlyWhatIsOnTheDeviceThatARuleNames) {
    Plan plan(script_of("place=call name=ibv_reg_mr what=ENOMEM device=lanewise1 after=1"));
    EXPECT_FALSE(plan.decide(Place::call, "ibv_reg_mr", "lanewise1"));
    EXPECT_FALSE(plan.decide(Place::call, "ibv_reg_mr", "lanewise0"));
    EXPECT_TRUE(plan.decide(Place::call, "ibv_reg_mr", "lanewise1"));
}

TEST(FaultPlan, TakesEachSoManyth) {
    Plan plan(script_of("place=call what=ENOMEM after=1 every=3"));
    EXPECT_THAT(hits(plan, 11), ElementsAre(4, 7, 10));
}

TEST(FaultPlan, SaysWhatAndWhichOccurrence) {
    Plan plan(script_of("place=call what=EFAULT value=14 after=4"));
    hits(plan, 4, "ibv_post_send");
    const auto decision = plan.decide(Place::call, "ibv_post_send", "lanewise0");
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
        for (int k = 0; k < i % 4; ++k) beside.decide(Place::packet, "send", "lanewise0");
        if (beside.decide(Place::call, "ibv_reg_mr", "lanewise0")) found.push_back(i);
    }
    EXPECT_EQ(hits(alone, 200), found);
}

TEST(FaultPlan, ARuleForAnyCountsEachKindByItself) {
    Plan plan(script_of("place=completion what=IBV_WC_GENERAL_ERR after=1 times=1"));
    EXPECT_FALSE(plan.decide(Place::completion, "send", "lanewise0"));
    EXPECT_FALSE(plan.decide(Place::completion, "receive", "lanewise0"));
    EXPECT_EQ(plan.decide(Place::completion, "receive", "lanewise0")->occurrence, 2U);
    EXPECT_FALSE(plan.decide(Place::completion, "receive", "lanewise0"));
    EXPECT_EQ(plan.decide(Place::completion, "send", "lanewise0")->occurrence, 2U);
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
        if (together.decide(Place::call, "ibv_post_recv", "lanewise0")) other.push_back(i);
        if (together.decide(Place::call, "ibv_post_send", "lanewise0")) found.push_back(i);
    }
    EXPECT_EQ(found, sends);
    EXPECT_EQ(other, receives);
    EXPECT_NE(sends, receives);
}

TEST(FaultPlan, TheFirstRuleThatFiresCountsAndTheOthersHaveSeenIt) {
    Plan plan(script_of("place=call what=ENOMEM times=1\nplace=call what=EINVAL after=1 times=1"));
    EXPECT_EQ(plan.decide(Place::call, "any", "lanewise0")->fault->what, "ENOMEM");
    EXPECT_EQ(plan.decide(Place::call, "any", "lanewise0")->fault->what, "EINVAL");
    EXPECT_FALSE(plan.decide(Place::call, "any", "lanewise0"));
    EXPECT_TRUE(plan.concerns(Place::call));
    EXPECT_FALSE(plan.concerns(Place::connection));
}

TEST(FaultPlan, AReplayMeetsTheOccurrencesThatWereNotedAndKeepsTheNumberOfTheRule) {
    Plan plan(script_of("place=call name=ibv_reg_mr what=ENOMEM value=12 number=3 at=2,5,9"));
    EXPECT_THAT(hits(plan, 20), ElementsAre(2, 5, 9));
    Plan again(script_of("place=call what=ENOMEM number=3 at=1"));
    EXPECT_EQ(again.decide(Place::call, "ibv_post_send", "lanewise0")->rule, 3U);
}

TEST(FaultPlan, ARuleWithoutANumberHasThatOfItsPlace) {
    Plan plan(script_of("place=call what=ENOMEM times=1\nplace=call what=EINVAL times=1"));
    EXPECT_EQ(plan.decide(Place::call, "any", "lanewise0")->rule, 1U);
    EXPECT_EQ(plan.decide(Place::call, "any", "lanewise0")->rule, 2U);
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

TEST(PlanTest, ARuleForAPeerAndASizeCountsOnlyPacketsThatAreMeant) {
    const auto script =
        read_script("place=packet what=lose after=1 times=1 peer=10.0.0.2 bytes_min=100\n");
    ASSERT_TRUE(script);
    Plan plan(*script);
    const auto met = [&](std::string_view peer, std::uint64_t bytes) {
        return plan.decide(Place::packet, "send", "lanewise0", {peer, bytes}).has_value();
    };
    EXPECT_FALSE(met("10.0.0.2", 100));
    EXPECT_FALSE(met("10.0.0.3", 100));
    EXPECT_FALSE(met("10.0.0.2", 99));
    EXPECT_TRUE(met("10.0.0.2", 200));
    EXPECT_FALSE(met("10.0.0.2", 200));
}

}  // namespace
}  // namespace lanewise::verbs::faults
