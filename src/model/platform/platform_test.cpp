// SPDX-License-Identifier: BSD-3-Clause
//
// platform.json: what is written is read again, and what is wrong is refused
// by the name of the key, the rank or the link.

#include "model/platform/platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/json.hpp"

#include "model/fit/fit.hpp"
#include "model/simulation/uniform_network.hpp"
#include "model/testing/synthetic.hpp"

namespace lanewise::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Platform some_platform(int ranks) {
    const auto network =
        uniform_network(ranks, {.send_s = 1e-6, .latency_s = 1e-5, .receive_s = 1e-6},
                        {.send_s = 1e-9, .latency_s = 4e-9, .receive_s = 1e-9});
    const auto seen = Synthetic(network, 0.01)
                          .pairs(all_sizes())
                          .triplets({0, 1024, 65536})
                          .trains(all_sizes())
                          .sends(all_sizes())
                          .receives(all_sizes())
                          .observations();
    auto platform = fit(seen, {.redraws = 20, .algorithms_of = {}})->platform;
    platform.lanewise = "0.1.0";
    platform.created = "2026-01-01T00:00:00Z";
    platform.fingerprint.settings["net.ipv4.tcp_rmem"] = "4096 131072 6291456";
    platform.gather = GatherRegion{1024, 65536, 0.2, {{1024, 0.0}, {65536, 0.1}}};
    platform.lanes = {{"here", "there", 5e-3, {1e8, 2e8}}};
    platform.disks = {{"/scratch", 1e9, 5e8}};
    return platform;
}

Json some_json() {
    static const Json json = to_json(some_platform(4));
    return json;
}

std::string refusal_of(const Json& json) {
    const auto read = platform_from_json(json, "platform.json");
    return read ? "it was read" : read.failure().sentence;
}

TEST(PlatformTest, IsReadAsItWasWritten) {
    const auto json = some_json();
    const auto read = platform_from_json(json, "platform.json");
    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_EQ(to_json(*read), json);
    for (const auto& name : model_names()) EXPECT_TRUE(has_model(*read, name)) << name;
}

/* As lanewise 0.1 wrote it. */
constexpr std::string_view version_1 = R"({
 "schema": "lanewise-platform", "version": 1, "lanewise": "0.1.0",
 "created": "2026-01-01T00:00:00Z", "ranks": 2, "hosts": ["a", "b"],
 "fingerprint": {"mpi": {"family": "openmpi", "library": "Open MPI v4.1.4"}, "fabric": "openmpi",
  "kernel": "6.1.0", "cpus": ["0", "1"], "settings": {}},
 "best": "loggp",
 "models": {"loggp": {
  "latency_s": {"value": 1e-5, "low": 9e-6, "high": 1.1e-5},
  "overhead_s": {"value": 1e-6, "low": 1e-6, "high": 1e-6},
  "gap_s": {"value": 1e-6, "low": 1e-6, "high": 1e-6},
  "gap_s_per_byte": {"value": 1e-9, "low": 1e-9, "high": 1e-9},
  "held_back": {"points": 3, "relative_rms": 0.02},
  "residuals": []}}
})";

TEST(PlatformTest, ReadsAFileOfVersion1AndWritesItWithTheNewKeys) {
    const auto read = platform_from_json(parse_json(version_1), "platform.json");

    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_EQ(read->fingerprint.launcher, "openmpi");
    EXPECT_EQ(read->fit_quality.at("loggp").held_out_points, 3U);
    const auto again = to_json(*read);
    EXPECT_EQ(again["version"], 3);
    EXPECT_EQ(again["fingerprint"]["launcher"], "openmpi");
    EXPECT_EQ(again["models"]["loggp"]["held_out"]["relative_rms"], 0.02);
}

TEST(PlatformTest, ReadsAFileOfVersion2WhoseLmoHasNoRanges) {
    auto json = some_json();
    json["version"] = 2;
    json["models"]["lmo"].erase("ranges");
    const auto read = platform_from_json(json, "platform.json");
    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_FALSE(read->lmo->ranges.has_value());
}

Json with_ranges() {
    auto platform = some_platform(4);
    auto& ranges = platform.lmo->ranges;
    ranges = LmoRanges{{0, 4096}, 4096, MessageLinks(4)};
    ranges->messages.each([](int, int, std::vector<PiecewiseTime>& times) {
        times = {{Parameter(2e-5), Parameter(2e-8)}, {Parameter(9e-5), Parameter(1e-8)}};
    });
    return to_json(platform);
}

TEST(PlatformTest, KeepsTheRangesOfLmo) {
    const auto json = with_ranges();
    const auto read = platform_from_json(json, "platform.json");
    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_EQ(to_json(*read), json);
    EXPECT_EQ(read->lmo->ranges->waits_from_bytes, 4096);
}

TEST(PlatformTest, RefusesRangesThatDoNotRiseOrLackAMessage) {
    auto falling = with_ranges();
    falling["models"]["lmo"]["ranges"]["from_bytes"] = {0, 0};
    EXPECT_THAT(refusal_of(falling), HasSubstr("do not rise from 0"));
    auto later = with_ranges();
    later["models"]["lmo"]["ranges"]["from_bytes"] = {1, 4096};
    EXPECT_THAT(refusal_of(later), HasSubstr("do not rise from 0"));
    auto short_of_one = with_ranges();
    short_of_one["models"]["lmo"]["ranges"]["links"][2]["messages"].erase(1);
    EXPECT_THAT(refusal_of(short_of_one), HasSubstr("are not one for each range of sizes"));
}

TEST(PlatformTest, RefusesAKeyThatItDoesNotKnowWhereverItStands) {
    const std::vector<std::pair<std::string, std::string>> places = {
        {"", ""},
        {"/fingerprint", "fingerprint: "},
        {"/fingerprint/mpi", "fingerprint.mpi: "},
        {"/models", "models: "},
        {"/models/lmo", "models.lmo: "},
        {"/models/lmo/links/2", "models.lmo.links[2]: "},
        {"/models/lmo/links/2/latency_s", "models.lmo.links[2].latency_s: "},
        {"/models/plogp/sizes/0", "models.plogp.sizes[0]: "},
        {"/models/loggp/held_out", "models.loggp.held_out: "},
        {"/models/hockney/residuals/1", "models.hockney.residuals[1]: "},
        {"/gather", "gather: "},
        {"/lanes/0", "lanes[0]: "},
        {"/disks/0", "disks[0]: "},
    };
    for (const auto& [place, path] : places) {
        auto json = some_json();
        json[Json::json_pointer(place)]["surprise"] = 1;
        EXPECT_EQ(refusal_of(json),
                  "platform.json: " + path +
                      "unknown key 'surprise'; lanewise model fit writes such files");
    }
}

TEST(PlatformTest, NamesEveryKeyThatIsMissing) {
    for (const auto *place : {"/ranks", "/hosts", "/best", "/fingerprint/kernel",
                              "/models/loggp/gap_s", "/models/lmo/processors/1/fixed_s/low"}) {
        auto patched = some_json().patch(Json::array({{{"op", "remove"}, {"path", place}}}));
        const auto key = std::string(place).substr(std::string(place).rfind('/') + 1);
        EXPECT_THAT(refusal_of(patched), HasSubstr("lacks '" + key + "'"));
    }
}

TEST(PlatformTest, NamesALinkThatIsNotThereAndHowToMeasureIt) {
    auto json = some_json();
    json["models"]["lmo"]["links"].erase(5);
    EXPECT_THAT(refusal_of(json), HasSubstr("platform.json: has no link 2-3: measure it with "
                                            "lanewise measure pairs -n 4"));
}

TEST(PlatformTest, NamesALinkThatIsThereTwiceAndARankThatIsNot) {
    auto twice = some_json();
    twice["models"]["hockney"]["links"][1] = twice["models"]["hockney"]["links"][0];
    EXPECT_THAT(refusal_of(twice), HasSubstr("link 0-1 twice"));
    auto lost = some_json();
    lost["models"]["lmo"]["processors"].erase(3);
    EXPECT_THAT(refusal_of(lost), HasSubstr("lack rank 3"));
    auto stranger = some_json();
    stranger["models"]["lmo"]["links"][0]["ranks"] = {0, 4};
    EXPECT_THAT(refusal_of(stranger), HasSubstr("none of the 4"));
}

TEST(PlatformTest, RefusesValuesOfTheWrongKind) {
    const std::vector<std::tuple<std::string, Json, std::string>> slips = {
        {"/ranks", -1, "'ranks' is -1, not an integer"},
        {"/hosts", "one", "'hosts' is \"one\", not an array"},
        {"/hosts/0", 1, "'hosts[0]' is 1, not a string"},
        {"/created", 5, "'created' is 5, not a string"},
        {"/models/loggp", Json::array(), "'models.loggp' is an array, not an object"},
        {"/models/loggp/gap_s/value", "fast", "gap_s.value' is \"fast\", not a number"},
        {"/models/loggp/gap_s/value", -1.0, "gap_s' is below 0"},
        {"/models/loggp/held_out/relative_rms", -1.0, "held_out.relative_rms' is below 0"},
        {"/models/loggp/residuals/0/relative_rms", -1.0, "residuals[0].relative_rms' is below 0"},
        {"/models/loggp/residuals/0/relative_worst", -1.0,
         "residuals[0].relative_worst' is below 0"},
        {"/models/plogp/sizes/1/message_bytes", 0, "does not rise"},
        {"/lanes/0/latency_s", -1.0, "'lanes[0].latency_s' is below 0"},
        {"/lanes/0/bandwidth_Bps/1", 0.0, "holds a rate that is not above 0"},
        {"/disks/0/read_Bps", -1.0, "'disks[0].read_Bps' is below 0"},
        {"/ranks", 2'000'000'000, "'hosts' are 4, not one for each of the 2000000000 ranks"},
        {"/hosts", Json::array({"a"}), "'hosts' are 1, not one for each of the 4 ranks"},
        {"/sites", Json::array({"a"}), "'sites' are 1, not one for each of the 4 ranks"},
        {"/best", "luck", "lacks: luck"},
        {"/version", platform_version + 1, "upgrade lanewise"},
        {"/schema", "lanewise-tuning", "not \"lanewise-platform\""},
    };
    for (const auto& [place, value, words] : slips) {
        auto json = some_json();
        json[Json::json_pointer(place)] = value;
        EXPECT_THAT(refusal_of(json), HasSubstr(words)) << place;
    }
}

TEST(PlatformTest, NamesAMissingLinkOfMoreRanksThanThereIsMemoryFor) {
    constexpr int ranks = 1'000'000;
    auto json = some_json();
    json["ranks"] = ranks;
    json["hosts"] = std::vector<std::string>(ranks, "here");
    json["models"].erase("lmo");

    EXPECT_THAT(refusal_of(json), HasSubstr("has no link 0-4"));
}

TEST(PlatformTest, SaysThatAFileIsNotJsonOrNotThere) {
    const auto path = std::filesystem::temp_directory_path() / "lanewise-not-a-platform.json";
    std::ofstream(path) << "{";
    EXPECT_THAT(read_platform(path).failure().sentence, HasSubstr("not JSON"));
    std::filesystem::remove(path);
    EXPECT_THAT(read_platform(path).failure().sentence,
                AllOf(HasSubstr("cannot be read"), HasSubstr("; lanewise model fit -o /")));
}

TEST(PlatformTest, WritesTheWholeFileOrNothing) {
    const auto folder = std::filesystem::temp_directory_path() / "lanewise-platform-test";
    std::filesystem::create_directories(folder);
    const auto platform = some_platform(3);
    ASSERT_TRUE(write_platform(platform, folder / "p.json"));
    EXPECT_EQ(to_json(*read_platform(folder / "p.json")), to_json(platform));
    EXPECT_FALSE(write_platform(platform, folder / "no" / "p.json"));
    const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
    EXPECT_EQ(files, 1);
    std::filesystem::remove_all(folder);
}

TEST(PlatformTest, MakesANetworkOfEveryModelAndNamesOneThatItLacks) {
    auto platform = some_platform(3);
    for (const auto& name : model_names()) {
        const auto made = network(platform, name, 1000);
        ASSERT_TRUE(made);
        EXPECT_EQ(made->ranks, 1000);
        EXPECT_GT(made->cost(0, 999, 1000).send_s + made->cost(0, 999, 1000).egress_s, 0.0);
    }
    platform.lmo.reset();
    EXPECT_THAT(network(platform, "lmo", 3).failure().sentence,
                HasSubstr("it has hockney, loggp, plogp"));
    EXPECT_FALSE(network(platform, "hockney", 0));
}

}  // namespace
}  // namespace lanewise::model
