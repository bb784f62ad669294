// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/copy_filter.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs {
namespace {

constexpr std::uint32_t sender = 0x51;
const Address sender_address{1, 2, 3};

struct Filter : ::testing::Test {
    CopyFilter filter;
    bool copy(std::uint32_t psn, std::uint8_t port, std::uint32_t qpn = sender) {
        return filter.is_copy(sender_address, qpn, Psn(psn), port);
    }
};

TEST_F(Filter, DropsTheSecondOfTwoWhicheverPortIsFaster) {
    EXPECT_FALSE(copy(7, 1));
    EXPECT_TRUE(copy(7, 2));
    EXPECT_FALSE(copy(8, 2));
    EXPECT_TRUE(copy(8, 1));
}

TEST_F(Filter, LetsThroughWhatOnePortLost) {
    EXPECT_FALSE(copy(7, 1));
    EXPECT_FALSE(copy(9, 2));
    EXPECT_FALSE(copy(8, 2));
    EXPECT_TRUE(copy(8, 1));
    EXPECT_TRUE(copy(9, 1));
}

TEST_F(Filter, KeepsSendersApart) {
    EXPECT_FALSE(copy(7, 1, 1));
    EXPECT_FALSE(copy(7, 2, 2));
    EXPECT_FALSE(filter.is_copy(Address{9}, 1, Psn(7), 2));
}

TEST_F(Filter, ANumberAgainOnOnePortIsOfASenderThatHasBegunAnew) {
    for (std::uint32_t psn = 0; psn < 5; ++psn) {
        EXPECT_FALSE(copy(psn, 1));
        EXPECT_TRUE(copy(psn, 2));
    }
    for (std::uint32_t psn = 0; psn < 5; ++psn) {
        EXPECT_FALSE(copy(psn, 1));
        EXPECT_TRUE(copy(psn, 2));
    }
}

TEST_F(Filter, FarAwayIsASenderThatHasBegunAnew) {
    EXPECT_FALSE(copy(100'000, 1));
    EXPECT_FALSE(copy(5, 2));
    EXPECT_TRUE(copy(5, 1));
    EXPECT_FALSE(copy(200'000, 1));
    EXPECT_TRUE(copy(200'000, 2));
}

TEST_F(Filter, DropsTheCopiesOfAPortThatLagsFarBehind) {
    constexpr std::uint32_t lag = 3 * CopyFilter::window;
    for (std::uint32_t psn = 0; psn < lag; ++psn) EXPECT_FALSE(copy(psn, 1));
    for (std::uint32_t psn = 0; psn < 2 * lag; ++psn) {
        EXPECT_FALSE(copy(psn + lag, 1)) << psn;
        EXPECT_TRUE(copy(psn, 2)) << psn;
    }
}

TEST_F(Filter, DropsTheCopiesOfAPortThatLagsFarBehindWhenItIsFirstHeard) {
    constexpr std::uint32_t lag = 3 * CopyFilter::window;
    constexpr std::uint32_t first = 50'000;
    for (std::uint32_t psn = first; psn < first + lag; ++psn) {
        EXPECT_FALSE(copy(psn, 1)) << psn;
        EXPECT_FALSE(copy(psn - lag, 2)) << psn;
    }
    for (std::uint32_t psn = first; psn < first + lag; ++psn) {
        EXPECT_FALSE(copy(psn + lag, 1)) << psn;
        EXPECT_TRUE(copy(psn, 2)) << psn;
    }
}

TEST_F(Filter, DropsTheCopiesOfAPortThatLagsFarBehindAndLosesMuch) {
    constexpr std::uint32_t lag = 3 * CopyFilter::window;
    for (std::uint32_t psn = 0; psn <= lag; ++psn) EXPECT_FALSE(copy(psn, 1));
    EXPECT_TRUE(copy(0, 2));
    constexpr std::uint32_t resumed = CopyFilter::window + 9;
    EXPECT_FALSE(copy(resumed, 2));  // a sender might have begun anew
    for (std::uint32_t psn = resumed + 1; psn < 2 * lag; ++psn) {
        EXPECT_FALSE(copy(psn + lag - resumed, 1)) << psn;
        EXPECT_TRUE(copy(psn, 2)) << psn;
    }
}

TEST_F(Filter, GoesOnOnAPortThatWasOutForLong) {
    EXPECT_FALSE(copy(0, 1));
    EXPECT_TRUE(copy(0, 2));
    for (std::uint32_t psn = 1; psn < 5'000; ++psn) EXPECT_FALSE(copy(psn, 1));
    EXPECT_FALSE(copy(5'000, 2));
    EXPECT_TRUE(copy(5'000, 1));
    EXPECT_TRUE(copy(4'999, 2));
}

TEST_F(Filter, ASenderThatHasBegunAnewIsHeardOnAPortThatWasOutForLong) {
    EXPECT_FALSE(copy(0, 1));
    EXPECT_TRUE(copy(0, 2));
    for (std::uint32_t psn = 1; psn < 50'000; ++psn) EXPECT_FALSE(copy(psn, 1));
    EXPECT_FALSE(copy(20'000, 2));
    EXPECT_FALSE(copy(20'001, 2));
}

TEST_F(Filter, GoesOnWhereTheNumbersWrap) {
    EXPECT_FALSE(copy(0xffffff, 1));
    EXPECT_FALSE(copy(0, 1));
    EXPECT_TRUE(copy(0xffffff, 2));
    EXPECT_TRUE(copy(0, 2));
}

TEST_F(Filter, ForgetsAllSendersRatherThanGrow) {
    EXPECT_FALSE(copy(7, 1, 0));
    for (std::uint32_t qpn = 1; qpn <= CopyFilter::senders_max; ++qpn) {
        EXPECT_FALSE(copy(7, 1, qpn));
    }
    EXPECT_FALSE(copy(7, 2, 0));
}

}  // namespace
}  // namespace lanewise::verbs
