// SPDX-License-Identifier: BSD-3-Clause
//
// Links are read from JSON, and what is unknown or impossible is refused by its name.

#include "testbed/configuration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"

namespace lanewise::testbed {
namespace {

using ::testing::HasSubstr;

const char *const whole =
    R"({"control": "/tmp/c", "links": [{"name": "a-b", "kind": "tap", "seed": 3,
    "ends": [{"namespace": "/n/a", "device": "x"}, {"device": "y"}],
    "settings": {"rate_bits_per_s": 1e9, "delay_ns": 5000000, "loss": 0.1}}]})";

TEST(Configuration, AWholeOneIsRead) {
    const auto read = read_configuration(whole);

    ASSERT_TRUE(read);
    EXPECT_EQ(read->control, "/tmp/c");
    ASSERT_EQ(read->links.size(), 1U);
    EXPECT_EQ(read->links[0].layer, Layer::ethernet);
    EXPECT_EQ(read->links[0].ends[0].network_namespace, "/n/a");
    EXPECT_EQ(read->links[0].ends[1].device, "y");
    EXPECT_EQ(read->links[0].settings.delay_ns, 5'000'000);
}

TEST(Configuration, TheExampleOfTheSchemaIsRead) {
    const auto schema = read_file(LANEWISE_SCHEMAS "/delay-line.schema.json");
    ASSERT_TRUE(schema) << schema.failure().sentence;
    const auto example = Json::parse(*schema)["examples"][0];

    const auto read = read_configuration(example.dump());

    ASSERT_TRUE(read) << read.failure().sentence;
    const auto& link = example["links"][0];
    EXPECT_EQ(Json(read->control), example["control"]);
    EXPECT_EQ(Json(read->links[0].name), link["name"]);
    EXPECT_EQ(Json(read->links[0].ends[1].device), link["ends"][1]["device"]);
    for (const auto& [key, value] : link["settings"].items()) {
        EXPECT_EQ(as_json(read->links[0].settings)[key], value) << key;
    }
}

TEST(Configuration, WhatIsWrongIsNamed) {
    const std::pair<const char *, const char *> cases[] = {
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {R"({"links": []})", "no link"},
        {R"({"links": [], "speed": 1})", "speed"},
        {R"({"links": [{"name": "a", "ends": [{"device": "x"}]}]})", "two ends"},
        {R"({"links": [{"name": "a", "kind": "wire", "ends": []}]})", "wire"},
    };
    for (const auto& [text, named] : cases) {
        const auto read = read_configuration(text);
        ASSERT_FALSE(read) << text;
        EXPECT_THAT(read.failure().sentence, HasSubstr(named));
    }
}

TEST(Configuration, ARequestChangesOnlyWhatItNames) {
    const LinkSettings before{.rate_bits_per_s = 1e9, .delay_ns = 5};
    const auto request = read_request(R"({"link": "a-b", "settings": {"rate_bits_per_s": 1e6}})");
    ASSERT_TRUE(request);

    const auto after = changed(before, request->settings);

    ASSERT_TRUE(after);
    EXPECT_EQ(after->rate_bits_per_s, 1e6);
    EXPECT_EQ(after->delay_ns, 5);
}

TEST(Configuration, ARequestMayBeAboutOneDirection) {
    const auto both = read_request(R"({"link": "a-b", "settings": {}})");
    const auto back = read_request(R"({"link": "a-b", "direction": 1, "settings": {}})");
    ASSERT_TRUE(both && back);
    EXPECT_FALSE(both->direction);
    EXPECT_EQ(back->direction, 1U);
    for (const char *text :
         {R"({"direction": 2})", R"({"direction": -1})", R"({"direction": "a"})"}) {
        EXPECT_FALSE(read_request(text)) << text;
    }
}

TEST(Configuration, ImpossibleSettingsAreRefused) {
    for (const char *text : {R"({"loss": 1.5})", R"({"loss": -1})", R"({"delay_ns": "5"})",
                             R"({"up": 1})", R"({"jitter_ns": 6})", R"({"colour": 1})", "[]"}) {
        EXPECT_FALSE(changed(LinkSettings{.delay_ns = 5}, Json::parse(text))) << text;
    }
}

TEST(Configuration, SettingsSurviveAJourneyThroughJson) {
    const LinkSettings before{.rate_bits_per_s = 1e9,
                              .flow_rate_bits_per_s = 1e7,
                              .delay_ns = 5,
                              .jitter_ns = 2,
                              .loss = 0.25,
                              .reorder = 0.5,
                              .queue_bytes = 4096,
                              .carrier = Carrier::cut};

    const auto after = changed(LinkSettings{}, as_json(before));

    ASSERT_TRUE(after);
    EXPECT_EQ(as_json(*after), as_json(before));
}

}  // namespace
}  // namespace lanewise::testbed
