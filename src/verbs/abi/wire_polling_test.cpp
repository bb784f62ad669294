// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/wire_polling.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::abi {
namespace {

TEST(WirePollingTest, APollLooksUnlessItFindsSomething) {
    WirePolling polling;
    EXPECT_TRUE(polling.looks(0));
    EXPECT_FALSE(polling.looks(1));
    EXPECT_TRUE(polling.looks(0));
    EXPECT_TRUE(polling.looks(0));
}

TEST(WirePollingTest, AProgramThatAlwaysFindsSomethingLooksNowAndThen) {
    WirePolling polling;
    for (int round = 0; round < 3; ++round) {
        for (unsigned find = 0; find < WirePolling::finds_max; ++find) {
            ASSERT_FALSE(polling.looks(5)) << round << ' ' << find;
        }
        ASSERT_TRUE(polling.looks(5)) << round;
    }
}

}  // namespace
}  // namespace lanewise::verbs::abi
