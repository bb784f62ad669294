// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/polls.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::abi {
namespace {

constexpr Nanoseconds duration = 20'000;

TEST(PollsTest, APollCountsForAWhileAfterItsEnd) {
    Polls polls;
    polls.begin();
    polls.end(1'000'000);
    EXPECT_TRUE(polls.within(duration, 1'019'999));
    EXPECT_FALSE(polls.within(duration, 1'020'000));
}

TEST(PollsTest, AShortPollCountsAsOneThatHasJustEnded) {
    Polls polls;
    polls.was_short(1'000'000);
    EXPECT_TRUE(polls.ended_within(duration, 1'019'999));
    EXPECT_FALSE(polls.within(duration, 1'020'000));
}

TEST(PollsTest, APollCountsAsLongAsItGoesOn) {
    Polls polls;
    polls.begin();
    polls.end(1'000'000);
    polls.begin();
    EXPECT_TRUE(polls.within(duration, 9'000'000));
    EXPECT_FALSE(polls.ended_within(duration, 9'000'000));
}

TEST(PollsTest, APollCountsWhileThatOfAnotherThreadEnds) {
    Polls polls;
    polls.begin();
    polls.begin();
    polls.end(1'000'000);
    EXPECT_TRUE(polls.within(duration, 9'000'000));
    polls.end(9'000'000);
    EXPECT_FALSE(polls.within(duration, 9'020'000));
}

}  // namespace
}  // namespace lanewise::verbs::abi
