// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/requester/gap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lanewise::verbs {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> runs(Gap& gap, int count, bool is_more_missing) {
    std::vector<std::uint32_t> found;
    for (int i = 0; i < count; ++i) {
        found.push_back(gap.packets());
        gap.adapt(is_more_missing);
    }
    return found;
}

TEST(Gap, SendsTwiceAsManyAgainAsLongAsMoreAreMissingAndHalfAsManyAfterwards) {
    Gap gap;

    EXPECT_THAT(runs(gap, 5, true), ElementsAre(1, 1, 2, 4, 8));
    EXPECT_THAT(runs(gap, 7, false), ElementsAre(16, 8, 4, 2, 1, 1, 1));
}

TEST(Gap, TakesLossesForSingleUntilMoreAreMissingInARow) {
    Gap gap;
    gap.adapt(false);
    EXPECT_TRUE(gap.losses_are_single());

    runs(gap, 2, true);
    gap.adapt(false);
    EXPECT_FALSE(gap.losses_are_single());

    gap.adapt(false);
    EXPECT_TRUE(gap.losses_are_single());
}

TEST(Gap, NeverSendsMoreAgainThanCanBeInFlight) {
    Gap gap;

    runs(gap, 100, true);

    EXPECT_EQ(gap.packets(), 1U << 15);
}

TEST(Gap, IsFilledWhenWhatWasSentAgainIsAcknowledged) {
    Gap gap;
    gap.open(Psn(2), Psn(9));  // of numbers that wrap

    gap.close_if_filled(Psn(0xffffff));
    EXPECT_TRUE(gap.is_open());
    gap.close_if_filled(Psn(2));
    EXPECT_FALSE(gap.is_open());
}

TEST(Gap, KeepsWhatItHasLearntUntilItIsReset) {
    Gap gap;
    gap.open(Psn(2), Psn(9));
    runs(gap, 3, true);

    gap.close();
    EXPECT_EQ(gap.packets(), 4u);
    gap.reset();
    EXPECT_EQ(gap.packets(), 1u);
}

}  // namespace
}  // namespace lanewise::verbs
