// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/wire_turns.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::abi {
namespace {

TEST(WireTurnsTest, APollLooksUnlessItFindsSomething) {
    WireTurns turns;
    EXPECT_TRUE(turns.looks(0));
    EXPECT_FALSE(turns.looks(1));
    EXPECT_TRUE(turns.looks(0));
    EXPECT_TRUE(turns.looks(0));
}

TEST(WireTurnsTest, AProgramThatAlwaysFindsSomethingLooksNowAndThen) {
    WireTurns turns;
    for (int round = 0; round < 3; ++round) {
        for (unsigned find = 0; find < WireTurns::finds_max; ++find) {
            ASSERT_FALSE(turns.looks(5)) << round << ' ' << find;
        }
        ASSERT_TRUE(turns.looks(5)) << round;
    }
}

}  // namespace
}  // namespace lanewise::verbs::abi
