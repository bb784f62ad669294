// SPDX-License-Identifier: BSD-3-Clause

#include "base/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Sizes, ARangeWithAFactorMultiplies) {
    EXPECT_THAT(*parse_sizes("1:16:x2"), ElementsAre(1, 2, 4, 8, 16));
}

TEST(Sizes, ARangeWithASizeAdds) {
    EXPECT_THAT(*parse_sizes("0:4K:1K"), ElementsAre(0, 1024, 2048, 3072, 4096));
}

TEST(Sizes, ListsAndRangesAreSortedTogether) {
    EXPECT_THAT(*parse_sizes("1M,0,8:32"), ElementsAre(0, 8, 16, 32, 1048576));
}

TEST(Sizes, TheEndOfARangeIsLeftOutWhenNoStepLandsOnIt) {
    EXPECT_THAT(*parse_sizes("1:100:x8"), ElementsAre(1, 8, 64));
}

TEST(Sizes, TheLargestSizeOfSixtyFourBitsIsRead) {
    EXPECT_EQ(*parse_size("18446744073709551615"), 18446744073709551615ull);
    EXPECT_EQ(parse_sizes("1:18446744073709551615:x4")->size(), 32u);
}

TEST(Sizes, EveryFormattedSizeIsReadBack) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t size = random() >> (random() % 64);
        EXPECT_EQ(*parse_size(format_size(size)), size);
    }
}

TEST(Sizes, ARangeFromASizeToItselfIsThatSize) {
    EXPECT_THAT(*parse_sizes("8:8"), ElementsAre(8));
    EXPECT_THAT(*parse_sizes("8:8:4"), ElementsAre(8));
}

TEST(Sizes, AUnitMayBeWrittenOutInFull) {
    for (const auto text : {"3K", "3k", "3KB", "3KiB"}) EXPECT_EQ(*parse_size(text), 3072u) << text;
    EXPECT_EQ(*parse_size("3B"), 3u);
}

TEST(Sizes, ASizeEndsWhereItsTextEnds) {
    EXPECT_EQ(*parse_size(std::string_view("123456", 3)), 123u);
}

TEST(Sizes, AreFormattedInTheLargestUnitThatDividesThem) {
    EXPECT_EQ(format_size(0), "0");
    EXPECT_EQ(format_size(1023), "1023");
    EXPECT_EQ(format_size(1024), "1K");
    EXPECT_EQ(format_size(1025), "1025");
    EXPECT_EQ(format_size(1536 << 10), "1536K");
    EXPECT_EQ(format_size(3 << 20), "3M");
    EXPECT_EQ(format_size(std::uint64_t{5} << 30), "5G");
    EXPECT_EQ(format_size(std::uint64_t{7} << 40), "7T");
}

// Under the sanitizers this is a fuzzer with a fixed seed.
TEST(Sizes, AnyTextIsReadOrRefusedAndWhatIsReadIsSortedWithoutRepeats) {
    std::mt19937_64 random(11);
    const std::string_view letters = "0123456789:,xKMGTB-. ";
    for (int i = 0; i < 200000; ++i) {
        std::string text(random() % 12, ' ');
        for (auto& letter : text) letter = letters[random() % letters.size()];

        const auto sizes = parse_sizes(text);

        if (!sizes) continue;
        ASSERT_FALSE(sizes->empty()) << text;
        ASSERT_LE(sizes->size(), sizes_count_max) << text;
        EXPECT_EQ(std::adjacent_find(sizes->begin(), sizes->end(), std::greater_equal<>{}),
                  sizes->end())
            << text;
    }
}

class RefusedSizes : public ::testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(RefusedSizes, NameTheValueAndTheRemedy) {
    const auto [text, remedy] = GetParam();

    const auto result = parse_sizes(text);

    ASSERT_FALSE(result);
    EXPECT_EQ(result.failure().status, LW_ERR_ARGUMENT);
    EXPECT_THAT(result.failure().sentence, HasSubstr(remedy));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedSizes,
    ::testing::Values(std::pair{"", "digits"}, std::pair{"abc", "digits"},
                      std::pair{"-1", "digits"}, std::pair{"1Q", "unknown unit"},
                      std::pair{"8:4", "backwards"}, std::pair{"1:8:x1", "at least 2"},
                      std::pair{"1:8:0", "above zero"}, std::pair{"0:8:x2", "cannot grow from 0"},
                      std::pair{"1:2:3:4", "first:last"}, std::pair{"1:8,4", "names 4 twice"},
                      std::pair{"1:8:y", "step"}, std::pair{"18446744073709551616", "above 2^64"},
                      std::pair{"99999999T", "above 2^64"}, std::pair{"0:1T:1", "million"}));

}  // namespace
}  // namespace lanewise
