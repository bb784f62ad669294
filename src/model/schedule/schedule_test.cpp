// SPDX-License-Identifier: BSD-3-Clause
//
// How many steps a schedule may have while a limit lives.

#include "model/schedule/schedule.hpp"

#include <gtest/gtest.h>

namespace lanewise::model {
namespace {

std::size_t built(int signals) {
    Builder steps;
    for (int i = 0; i < signals; ++i) steps.signal(1);
    return steps.finish().steps.size();
}

TEST(StepLimitTest, GivesUpAScheduleThatHasMoreSteps) {
    const StepLimit limit(10);

    EXPECT_EQ(built(10), 10U);
    EXPECT_THROW(built(11), TooManySteps);
}

TEST(StepLimitTest, HoldsOnlyWhileItLives) {
    {
        const StepLimit outer(20);
        {
            const StepLimit inner(10);
            EXPECT_THROW(built(15), TooManySteps);
        }
        EXPECT_EQ(built(15), 15U);
        EXPECT_THROW(built(25), TooManySteps);
    }
    EXPECT_EQ(built(25), 25U);
}

}  // namespace
}  // namespace lanewise::model
