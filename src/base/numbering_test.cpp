// SPDX-License-Identifier: BSD-3-Clause

#include "base/numbering.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lanewise {
namespace {

TEST(Numbering, CountsValuesInTheOrderOfTheirFirstOccurrence) {
    Numbering<std::string> hosts;

    EXPECT_EQ(hosts.of("b"), 0);
    EXPECT_EQ(hosts.of("a"), 1);
    EXPECT_EQ(hosts.of("b"), 0);
    EXPECT_EQ(hosts.of(""), 2);
}

}  // namespace
}  // namespace lanewise
