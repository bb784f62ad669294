// SPDX-License-Identifier: BSD-3-Clause

#include "base/json_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/json.hpp"

namespace lanewise {
namespace {

/* The sentence with which `read` refuses a file; empty if it reads it. */
template <typename Read>
std::string refusal_of(std::string_view text, Read&& read) {
    const auto outcome = visit_json_object(text, {"f.json", ""}, read);
    return outcome ? "" : outcome.failure().sentence;
}

TEST(JsonObject, ReadsValuesByTheirTypes) {
    const auto read = read_json_object(
        std::string_view(R"({"name": "a", "up": true, "rate": 1.5, "ranks": 4, "cpus": ["0", "1"],
                             "curve": [1, 2.5], "layout": [2, 2], "settings": {"mtu": "9000"}})"),
        {"f.json", ""}, [](JsonObject& top) {
            EXPECT_EQ(top.string("name"), "a");
            EXPECT_TRUE(top.boolean("up"));
            EXPECT_EQ(top.number("rate"), 1.5);
            EXPECT_EQ(top.strings("cpus"), (std::vector<std::string>{"0", "1"}));
            EXPECT_EQ(top.numbers("curve"), (std::vector<double>{1.0, 2.5}));
            EXPECT_EQ(top.counts<int>("layout"), (std::vector<int>{2, 2}));
            EXPECT_EQ(top.named_strings("settings").at("mtu"), "9000");
            return top.count<int>("ranks");
        });

    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_EQ(*read, 4);
}

TEST(JsonObject, TakesTheEndsOfARange) {
    const auto read = [](JsonObject& top) {
        EXPECT_EQ(top.number("low", 1.0, 2.0), 1.0);
        EXPECT_EQ(top.number("high", 1.0, 2.0), 2.0);
        EXPECT_EQ(top.count("none"), 0);
    };

    EXPECT_EQ(refusal_of(R"({"low": 1, "high": 2, "none": 0})", read), "");
}

TEST(JsonObject, NamesAMissingKeyAndWhereItBelongs) {
    const auto read = [](JsonObject& top) {
        top.object("mpi", [](JsonObject& mpi) { mpi.string("family"); });
    };

    EXPECT_EQ(refusal_of("{}", read), "f.json: lacks 'mpi'");
    EXPECT_EQ(refusal_of(R"({"mpi": {}})", read), "f.json: mpi lacks 'family'");
}

TEST(JsonObject, NamesAKeyThatNobodyAskedFor) {
    const auto read = [](JsonObject& top) {
        top.each("hosts", [](JsonObject& host) { host.has("site"); });
    };

    EXPECT_EQ(refusal_of(R"({"hosts": [], "colour": 1})", read), "f.json: unknown key 'colour'");
    EXPECT_EQ(refusal_of(R"({"hosts": [{"site": 1}, {"sight": 1}]})", read),
              "f.json: hosts[1]: unknown key 'sight'");
}

TEST(JsonObject, NamesAValueOfTheWrongTypeAndTheTypeItShouldHave) {
    const std::pair<const char *, const char *> cases[] = {
        {R"({"ranks": -4})", "f.json: 'ranks' is -4, not an integer of at least 1"},
        {R"({"ranks": 4.5})", "f.json: 'ranks' is 4.5, not an integer of at least 1"},
        {R"({"ranks": []})", "f.json: 'ranks' is an array, not an integer of at least 1"},
        {R"({"ranks": 4294967296})", "f.json: 'ranks' is 4294967296, more than 2147483647"},
    };
    for (const auto& [text, sentence] : cases) {
        EXPECT_EQ(refusal_of(text, [](JsonObject& top) { top.count<int>("ranks", 1); }), sentence);
    }
    EXPECT_EQ(refusal_of(R"({"a": 1})", [](JsonObject& top) { top.string("a"); }),
              "f.json: 'a' is 1, not a string");
    EXPECT_EQ(refusal_of(R"({"a": "1"})", [](JsonObject& top) { top.number("a"); }),
              "f.json: 'a' is \"1\", not a number");
    EXPECT_EQ(refusal_of(R"({"a": null})", [](JsonObject& top) { top.boolean("a"); }),
              "f.json: 'a' is null, not true or false");
    EXPECT_EQ(refusal_of(R"({"a": 2})", [](JsonObject& top) { top.number("a", 0, 1); }),
              "f.json: 'a' is 2.0, not between 0.0 and 1.0");
    EXPECT_EQ(refusal_of(R"({"a": {}})", [](JsonObject& top) { top.strings("a"); }),
              "f.json: 'a' is an object, not an array");
    EXPECT_EQ(refusal_of(R"({"a": ["x", 1]})", [](JsonObject& top) { top.strings("a"); }),
              "f.json: 'a[1]' is 1, not a string");
    EXPECT_EQ(
        refusal_of(R"({"a": [1]})", [](JsonObject& top) { top.each("a", [](JsonObject&) {}); }),
        "f.json: 'a[0]' is 1, not an object");
}

TEST(JsonObject, HoldsTheLargestCount) {
    const auto most = std::numeric_limits<std::uint64_t>::max();
    const auto text = R"({"to_bytes": )" + std::to_string(most) + "}";

    EXPECT_EQ(
        refusal_of(text,
                   [&](JsonObject& top) { EXPECT_EQ(top.count<std::uint64_t>("to_bytes"), most); }),
        "");
}

TEST(JsonObject, TakesAWholeNumberThatIsWrittenAsAReal) {
    const auto bytes_in = [](std::string_view text) {
        return read_json_object(text, {"f.json", ""}, [](JsonObject& top) {
            return top.count<std::uint64_t>("bytes", 1);
        });
    };

    for (const auto& [text, bytes] : {std::pair{R"({"bytes": 1048577.0})", std::uint64_t{1048577}},
                                      std::pair{R"({"bytes": 1e3})", std::uint64_t{1000}}}) {
        const auto read = bytes_in(text);
        ASSERT_TRUE(read) << read.failure().sentence;
        EXPECT_EQ(*read, bytes);
    }
    for (const auto *text : {R"({"bytes": 18446744073709551616.0})", R"({"bytes": 0.0})",
                             R"({"bytes": -1.0})", R"({"bytes": 1.5})"}) {
        EXPECT_FALSE(bytes_in(text)) << text;
    }
}

TEST(JsonObject, ReadsItsOwnSchemaUpToTheNewestVersion) {
    const auto read = [](JsonObject& top) {
        EXPECT_LE(top.expect_schema("lanewise-platform", 2), 2);
    };

    EXPECT_EQ(refusal_of(R"({"schema": "lanewise-platform", "version": 1})", read), "");
    EXPECT_EQ(refusal_of(R"({"schema": "lanewise-platform", "version": 2})", read), "");
    EXPECT_EQ(refusal_of(R"({"schema": "lanewise-platform", "version": 3})", read),
              "f.json: version 3 is newer than version 2, which this lanewise reads; "
              "upgrade lanewise");
    EXPECT_EQ(refusal_of(R"({"schema": "lanewise-tuning", "version": 1})", read),
              "f.json: 'schema' is \"lanewise-tuning\", not \"lanewise-platform\"");
}

TEST(JsonObject, VisitsAnObjectWhoseKeysAreNames) {
    std::vector<std::string> names;
    const auto read = [&](JsonObject& top) {
        top.each_named("models", [&](const std::string& name, JsonObject& model) {
            names.push_back(name);
            model.has("x");
        });
    };

    EXPECT_EQ(refusal_of(R"({"models": {"b": {}, "a": {"y": 1}}})", read),
              "f.json: models.a: unknown key 'y'");
    EXPECT_EQ(names, (std::vector<std::string>{"b", "a"}));
}

TEST(JsonObject, SaysThatTextIsNotJsonAndWhatToDo) {
    const auto outcome =
        visit_json_object(std::string_view("{"), {"f.json", "write it again"}, [](JsonObject&) {});

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.failure().sentence,
              "f.json: is not JSON, or only part of it; write it again");
}

TEST(JsonObject, NamesAKeyThatIsThereTwice) {
    const auto outcome =
        visit_json_object(std::string_view(R"({"b": 0, "a": [{"b": {"b": 1}, "c": 2, "b": 1}]})"),
                          {"f.json", "write it again"}, [](JsonObject&) {});

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.failure().sentence, "f.json: the key 'b' is there twice; write it again");
}

TEST(JsonObject, ARefusalOfTheReaderNamesItsObject) {
    const auto read = [](JsonObject& top) {
        top.object("link", [](JsonObject& link) {
            if (link.count("ends") != 2) link.refuse("ends", "is not 2");
            link.refuse("no such device");
        });
    };

    EXPECT_EQ(refusal_of(R"({"link": {"ends": 3}})", read), "f.json: 'link.ends' is not 2");
    EXPECT_EQ(refusal_of(R"({"link": {"ends": 2}})", read), "f.json: link: no such device");
}

}  // namespace
}  // namespace lanewise
