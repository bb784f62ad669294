// SPDX-License-Identifier: BSD-3-Clause

#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace lanewise {
namespace {

TEST(NearestTest, FindsTheNameThatASlipMeant) {
    EXPECT_EQ(nearest_name("scater", {"gather", "scatter", "bcast"}), "scatter");
    EXPECT_EQ(nearest_name("skewd", {"row-major", "skewed"}), "skewed");
}

TEST(NearestTest, FindsNothingWhereNoNameIsClose) {
    EXPECT_EQ(nearest_name("xyzzy", {"gather", "scatter"}), "");
    EXPECT_EQ(nearest_name("ter", {"scatter"}), "") << "what is missing before counts, too";
    EXPECT_EQ(nearest_name("scat", {"scatter"}), "") << "what is missing behind counts, too";
}

}  // namespace
}  // namespace lanewise
