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
}

}  // namespace
}  // namespace lanewise
