// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/census.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::faults {
namespace {

TEST(Census, CountsEachKindAtItsPlace) {
    Census census;
    census.saw(Place::completion, "send");
    census.saw(Place::call, "ibv_reg_mr");
    census.saw(Place::completion, "receive");
    census.saw(Place::completion, "send");
    EXPECT_EQ(census.line(),
              "{\"call\": {\"ibv_reg_mr\": 1}, \"completion\": {\"receive\": 1, \"send\": 2}}\n");
}

TEST(Census, AddsUpWhatIsLeftOfAKind) {
    Census census;
    census.left("ibv_mr", 2);
    census.left("ibv_mr", 1);
    EXPECT_EQ(census.line(), "{\"left\": {\"ibv_mr\": 3}}\n");
}

TEST(Census, OfAProcessThatDidNothingIsEmpty) {
    EXPECT_EQ(Census{}.line(), "{}\n");
}

}  // namespace
}  // namespace lanewise::verbs::faults
