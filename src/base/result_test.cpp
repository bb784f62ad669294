// SPDX-License-Identifier: BSD-3-Clause

#include "base/result.hpp"

#include <gtest/gtest.h>

namespace lanewise {
namespace {

TEST(Result, HoldsTheValueOfASuccess) {
    const Result<int> result = 7;

    EXPECT_TRUE(result);
    EXPECT_EQ(*result, 7);
}

TEST(Result, HoldsStatusAndSentenceOfAFailure) {
    const Result<int> result = Failure{LW_ERR_LIMIT, "too large"};

    EXPECT_FALSE(result);
    EXPECT_EQ(result.failure().status, LW_ERR_LIMIT);
    EXPECT_EQ(result.failure().sentence, "too large");
}

TEST(Status, EveryStatusHasItsOwnText) {
    for (int a = LW_OK; a <= LW_ERR_IO; ++a) {
        for (int b = LW_OK; b < a; ++b) {
            EXPECT_STRNE(lw_status_text(static_cast<lw_status>(a)),
                         lw_status_text(static_cast<lw_status>(b)));
        }
    }
}

}  // namespace
}  // namespace lanewise
