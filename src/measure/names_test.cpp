// SPDX-License-Identifier: BSD-3-Clause
//
// Timing methods and starts by name, through the C API; what a message says of names.

#include "measure/names.hpp"

#include <gtest/gtest.h>
#include <lanewise/measure.h>

namespace lanewise::measure {
namespace {

TEST(Names, AreListedAsASentenceHasThem) {
    EXPECT_EQ(listed(std::vector<std::string>{}), "");
    EXPECT_EQ(listed(std::vector<std::string>{"max"}), "max");
    EXPECT_EQ(listed(std::vector<std::string>{"max", "root"}), "max or root");
    EXPECT_EQ(listed(std::vector<std::string>{"max", "root", "tasks"}), "max, root or tasks");
}

TEST(Names, OfTimingMethodsGiveTheirConstants) {
    const std::pair<const char *, lw_timing> known[] = {{"max", LW_TIMING_MAX},
                                                        {"root", LW_TIMING_ROOT},
                                                        {"global", LW_TIMING_GLOBAL},
                                                        {"tasks", LW_TIMING_TASKS}};
    for (const auto& [name, constant] : known) {
        auto timing = LW_TIMING_LAST;
        EXPECT_EQ(lw_timing_named(name, &timing), LW_OK);
        EXPECT_EQ(timing, constant);
        EXPECT_STREQ(lw_timing_name(constant), name);
    }
}

TEST(Names, OfStartsGiveTheirConstants) {
    const std::pair<const char *, lw_start> known[] = {{"barrier", LW_START_BARRIER},
                                                       {"double-barrier", LW_START_DOUBLE_BARRIER},
                                                       {"window", LW_START_WINDOW},
                                                       {"round-time", LW_START_ROUND_TIME}};
    for (const auto& [name, constant] : known) {
        auto start = LW_START_LAST;
        EXPECT_EQ(lw_start_named(name, &start), LW_OK);
        EXPECT_EQ(start, constant);
        EXPECT_STREQ(lw_start_name(constant), name);
    }
}

TEST(Names, ThatDoNotExistLeaveTheOutputUntouched) {
    auto timing = LW_TIMING_ROOT;
    auto start = LW_START_WINDOW;

    EXPECT_EQ(lw_timing_named("best", &timing), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_start_named("now", &start), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_timing_named(nullptr, &timing), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_start_named("window", nullptr), LW_ERR_ARGUMENT);

    EXPECT_EQ(timing, LW_TIMING_ROOT);
    EXPECT_EQ(start, LW_START_WINDOW);
    EXPECT_EQ(lw_timing_name(LW_TIMING_LAST), nullptr);
    EXPECT_EQ(lw_start_name(LW_START_LAST), nullptr);
}

}  // namespace
}  // namespace lanewise::measure
