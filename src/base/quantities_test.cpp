// SPDX-License-Identifier: BSD-3-Clause

#include "base/quantities.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lanewise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Durations, HaveUnitsAndAreSecondsWithoutOne) {
    const std::vector<std::pair<std::string, double>> known = {
        {"10", 10.0},     {"0.5", 0.5},  {"1e-6", 1e-6},     {"10s", 10.0},
        {"500ms", 0.5},   {"1us", 1e-6}, {"3 ns", 3e-9},     {"2min", 120.0},
        {"1.5h", 5400.0}, {"0", 0.0},    {"2\u00b5s", 2e-6},
    };
    for (const auto& [text, duration_s] : known) {
        const auto parsed = parse_duration(text);
        ASSERT_TRUE(parsed) << text;
        EXPECT_EQ(*parsed, duration_s) << text;
    }
}

TEST(Durations, RefuseWhatIsNoTime) {
    for (const auto *text : {"", "s", "soon"}) {
        const auto parsed = parse_duration(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.failure().sentence, HasSubstr("is not a time"));
    }
    EXPECT_THAT(parse_duration("soon", "--wait").failure().sentence, HasSubstr("--wait \"soon\""));
    EXPECT_THAT(parse_duration("3 days").failure().sentence, HasSubstr("ns, us, ms, s, min or h"));
}

TEST(Durations, AreWrittenAsTheyAreReadBack) {
    const std::vector<std::pair<double, std::string>> known = {
        {10.0, "10s"},  {0.02, "20ms"}, {1e-6, "1us"},       {120.0, "2min"},     {90.0, "90s"},
        {7200.0, "2h"}, {0.0, "0"},     {1.25e-9, "1.25ns"}, {2.5e-10, "0.25ns"},
    };
    for (const auto& [duration_s, text] : known) {
        EXPECT_EQ(duration_text(duration_s), text);
        EXPECT_DOUBLE_EQ(*parse_duration(text), duration_s);
    }
}

TEST(Rates, AreInBytesOrBitsAndInBytesWithoutAUnit) {
    for (const auto *text : {"1.5e9", "1.5GB/s", "1500 MB/s", "12Gbit/s", "12e6kb/s"}) {
        const auto parsed = parse_rate(text, RateOf::bytes);
        ASSERT_TRUE(parsed) << text;
        EXPECT_DOUBLE_EQ(*parsed, 1.5e9) << text;
    }
}

TEST(Rates, OfASweepAreInCells) {
    for (const auto *text : {"5e8", "500Mcells/s", "0.5 Gcells/s"}) {
        const auto parsed = parse_rate(text, RateOf::cells);
        ASSERT_TRUE(parsed) << text;
        EXPECT_DOUBLE_EQ(*parsed, 5e8) << text;
    }
}

TEST(Rates, RefuseWhatIsNoRate) {
    for (const auto *text : {"", "fast", "0", "-1", "nan", "inf", "5GB", "5Mcells/s", "5TB/s"}) {
        const auto parsed = parse_rate(text, RateOf::bytes, "--read-rate");
        ASSERT_FALSE(parsed) << text;
        EXPECT_THAT(parsed.failure().sentence,
                    AllOf(HasSubstr("--read-rate"), HasSubstr("1.5GB/s")));
    }
    EXPECT_THAT(parse_rate("5GB/s", RateOf::cells).failure().sentence, HasSubstr("Mcells/s"));
}

TEST(Shares, AreFractionsOrPercentages) {
    EXPECT_EQ(*parse_share("2.5%"), 0.025);
    EXPECT_EQ(*parse_share("2.5 %"), 0.025);
    EXPECT_EQ(*parse_share("0.025"), 0.025);
    EXPECT_EQ(share_text(0.025), "2.5%");
    EXPECT_EQ(share_text(0.03), "3%");
    EXPECT_FALSE(parse_share("two"));
    EXPECT_FALSE(parse_share("2 percent"));
}

TEST(RepetitionCounts, AreOneNumberOrARange) {
    EXPECT_EQ(*parse_repetitions("25"), (Repetitions{25, 25}));
    EXPECT_EQ(*parse_repetitions("10:1000"), (Repetitions{10, 1000}));
    EXPECT_EQ(repetitions_text({10, 1000}), "10:1000");
    EXPECT_EQ(repetitions_text({25, 25}), "25");
    for (const auto *text : {"", "few", "1:", ":5", "1:2:3", "-4"}) {
        EXPECT_FALSE(parse_repetitions(text)) << text;
    }
}

TEST(Counted, OneIsSingular) {
    EXPECT_EQ(counted(1, "point"), "1 point");
    EXPECT_EQ(counted(0, "point"), "0 points");
    EXPECT_EQ(counted(2, "pass"), "2 passes");
}

}  // namespace
}  // namespace lanewise
