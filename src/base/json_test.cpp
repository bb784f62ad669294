// SPDX-License-Identifier: BSD-3-Clause

#include "base/json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lanewise {
namespace {

TEST(ParseJson, KeepsKeysInTheOrderOfTheText) {
    EXPECT_EQ(parse_json(R"({"b": 1, "a": [true, null]})").dump(), R"({"b":1,"a":[true,null]})");
}

TEST(ParseJson, DiscardsWhatIsNotJson) {
    for (const auto *text : {"", "{", "[1,]", "{\"a\" 1}", "1 2"}) {
        EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    }
}

TEST(ParseJson, LeavesOutMembersThatNobodyWants) {
    const auto *const text = R"({"a": {"b": [1, {"c": 2}], "c": 3}, "b": {"a": 4}, "c": ["b"]})";

    EXPECT_EQ(parse_json(text, "b").dump(), R"({"a":{"c":3},"c":["b"]})");
    EXPECT_EQ(parse_json(text, "d"), parse_json(text));
    EXPECT_TRUE(parse_json(R"({"b": [1,]})", "b").is_discarded());
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
    const Json value = {{"path", "t\xe9.json"}, {"n", 1}};

    EXPECT_EQ(json_text(value), "{\"path\":\"t\xef\xbf\xbd.json\",\"n\":1}");
    EXPECT_EQ(json_text(Json{{"n", 1}}, 1), "{\n \"n\": 1\n}");
}

TEST(ParseJson, DiscardsWhatIsNestedWithoutEnd) {
    const std::string open(1'000'000, '[');

    EXPECT_TRUE(parse_json(open).is_discarded());
    EXPECT_TRUE(parse_json(open + std::string(open.size(), ']')).is_discarded());
}

}  // namespace
}  // namespace lanewise
