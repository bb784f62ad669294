// SPDX-License-Identifier: BSD-3-Clause

#include "base/json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

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

TEST(ParseJson, DiscardsAnObjectWithAKeyTwice) {
    for (const auto *text : {R"({"a": 1, "a": 2})", R"([{"b": {"a": 1, "c": {}, "a": 1}}])"}) {
        EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    }
    EXPECT_TRUE(parse_json(R"({"a": [1], "a": [2], "b": 3})", "a").is_discarded());
    EXPECT_FALSE(parse_json(R"([{"a": {"a": 1}}, {"a": {"a": 1}}])").is_discarded());
}

TEST(ParseJson, LeavesOutMembersThatNobodyWants) {
    const auto *const text = R"({"a": {"b": [1, {"c": 2}], "c": 3}, "b": {"a": 4}, "c": ["b"]})";

    EXPECT_EQ(parse_json(text, "b").dump(), R"({"a":{"c":3},"c":["b"]})");
    EXPECT_EQ(parse_json(text, "d"), parse_json(text));
    EXPECT_TRUE(parse_json(R"({"b": [1,]})", "b").is_discarded());
}

TEST(WithoutValues, LeavesWhatAParserThatLooksAtAllOfItLeaves) {
    for (const auto *text :
         {R"({"b": [1, {"c": "]"}], "a": {"b" : {"b": []}, "c": "b"}, "d": ["b", {"b":[]}]})",
          R"([{"x\"b": [1], "b": "\"b\": [", "c": "\\"}, {"b": [2], "e": "b"}])",
          R"({"b": 7, "a": [{"b": null}, {"b": true}]})", R"([])", R"("b")"}) {
        EXPECT_EQ(parse_json(without_values(text, "b"), "b"), parse_json(text, "b")) << text;
    }
    EXPECT_EQ(without_values(R"({"b": [1, "]"], "a": 2})", "b"), R"({"b": null, "a": 2})");
}

TEST(WithoutValues, LeavesNoJsonOfWhatIsCutOff) {
    const std::string text = R"({"a": {"b": [1, "]", {}], "c": "\""}})";
    for (std::size_t length = 0; length < text.size(); ++length) {
        const auto cut = std::string_view(text).substr(0, length);
        EXPECT_TRUE(parse_json(without_values(cut, "b")).is_discarded()) << cut;
    }
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
