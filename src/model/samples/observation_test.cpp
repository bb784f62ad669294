// SPDX-License-Identifier: BSD-3-Clause
//
// Samples as the models see them, and samples that are refused.

#include "model/samples/observation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "base/json.hpp"

namespace lanewise::model {
namespace {

using ::testing::HasSubstr;

Json context(int ranks) {
    Json placement = Json::array();
    for (int rank = 0; rank < ranks; ++rank)
        placement.push_back({{"rank", rank}, {"host", "here"}, {"cpus", "0-1"}});
    return {{"record", "context"},
            {"schema", "lanewise-samples"},
            {"version", 2},
            {"mpi", {{"family", "openmpi"}, {"library", "Open MPI v4"}, {"standard", "3.1"}}},
            {"launcher", "openmpi"},
            {"ranks", ranks},
            {"placement", placement}};
}

Json point(const std::string& operation, std::vector<double> samples_s) {
    return {{"record", "point"},
            {"operation", operation},
            {"root", 0},
            {"peer", 1},
            {"message_bytes", 8},
            {"reply_bytes", 8},
            {"samples_s", std::move(samples_s)}};
}

Json looped(Json point) {
    point["definition"] = "osu";
    return point;
}

std::string refusal_of_samples(const std::vector<Json>& records) {
    const auto seen = observations_of(records, "s.jsonl");
    return seen ? "it was read" : seen.failure().sentence;
}

TEST(ObservationTest, LeavesOutWhatWasMeasuredWithTheLoopOfAnotherTool) {
    const std::vector<Json> records{context(3), point("pairs", {2e-6}),
                                    looped(point("pairs", {1e-6}))};
    const auto seen = observations_of(records, "s.jsonl");
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->all.size(), 1u);
    EXPECT_DOUBLE_EQ(seen->all[0].time_s, 2e-6);
}

TEST(ObservationTest, KeepsTheMedianAndTheSamplesInOrder) {
    const std::vector<Json> records{context(3), point("pairs", {3e-6, 1e-6, 2e-6})};
    const auto seen = observations_of(records, "s.jsonl");
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->all.size(), 1u);
    EXPECT_EQ(seen->all[0].experiment, Experiment::pair);
    EXPECT_DOUBLE_EQ(seen->all[0].time_s, 2e-6);
    EXPECT_DOUBLE_EQ(seen->all[0].sorted_s.front(), 1e-6);
    EXPECT_EQ(seen->conditions.hosts.size(), 3u);
    EXPECT_TRUE(seen->has(Experiment::pair));
    EXPECT_FALSE(seen->has(Experiment::triplet));
}

TEST(ObservationTest, TakesAPingpongForAWholeRoundTripWithTheNextRank) {
    auto pingpong = point("pingpong", {1e-6});
    pingpong.erase("peer");
    pingpong.erase("reply_bytes");
    pingpong["root"] = 2;
    const auto seen = observations_of(std::vector<Json>{context(3), pingpong}, "s.jsonl");
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->all[0].experiment, Experiment::pair);
    EXPECT_EQ(seen->all[0].peer, 0);
    EXPECT_EQ(seen->all[0].reply_bytes, 8);
    EXPECT_DOUBLE_EQ(seen->all[0].time_s, 2e-6);
}

TEST(ObservationTest, PassesOverPipelinedCollectivesAndPointsWithoutATime) {
    auto pipelined = context(2);
    pipelined["pipeline_length"] = 100;
    const std::vector<Json> records{pipelined, point("scatter", {1e-6}), point("pairs", {}),
                                    point("sends", {-1e-9}), point("pairs", {1e-6})};
    EXPECT_EQ(observations_of(records, "s.jsonl")->all.size(), 1u);
    const std::vector<Json> simulated{context(2), point("sends", {0.0}), point("pairs", {0.0})};
    EXPECT_EQ(observations_of(simulated, "s.jsonl")->all.size(), 1u) << "a send may be free";
}

TEST(ObservationTest, PassesOverCollectivesWhoseBlocksHaveWeights) {
    auto uneven = context(2);
    uneven["weights"] = {1.0, 3.0};
    auto even = context(2);
    even["weights"] = Json::array();
    const auto count = [](const Json& head) {
        return observations_of(std::vector<Json>{head, point("scatterv", {1e-6})}, "s.jsonl")
            ->all.size();
    };
    EXPECT_EQ(count(uneven), 0u);
    EXPECT_EQ(count(even), 1u);
}

TEST(ObservationTest, RefusesWhatIsNoSamplesFileAndSaysTheLine) {
    auto newer = context(2);
    newer["version"] = 7;
    auto stranger = point("pairs", {1e-6});
    stranger["peer"] = 5;
    auto bare = point("pairs", {1e-6});
    bare.erase("samples_s");
    auto text = point("pairs", {1e-6});
    text["samples_s"] = {"fast"};
    EXPECT_THAT(refusal_of_samples({}), HasSubstr("s.jsonl has no whole line"));
    EXPECT_THAT(refusal_of_samples({point("pairs", {1e-6})}), HasSubstr("s.jsonl:1: no context"));
    EXPECT_THAT(refusal_of_samples({newer}), HasSubstr("version 7"));
    EXPECT_THAT(refusal_of_samples({context(2), stranger}),
                HasSubstr("s.jsonl:2: pairs of a rank"));
    EXPECT_THAT(refusal_of_samples({context(2), bare}), HasSubstr("without operation"));
    EXPECT_THAT(refusal_of_samples({context(2), text}), HasSubstr("holds \"fast\""));
}

TEST(ObservationTest, RefusesNumbersThatAreNoRanksOrBytes) {
    const std::vector<std::tuple<std::string, Json, std::string>> slips = {
        {"root", 4294967297, "s.jsonl:2: pairs of a rank that is none of the 3"},
        {"root", -1, "none of the 3"},
        {"peer", 1.5, "none of the 3"},
        {"peer", 0, "pairs of a rank with itself"},
        {"message_bytes", 18446744073709551615U, "without operation, message_bytes"},
        {"reply_bytes", -8, "reply_bytes is no number of bytes"},
        {"reply_bytes", 0.5, "reply_bytes is no number of bytes"},
    };
    for (const auto& [key, value, words] : slips) {
        auto wrong = point("pairs", {1e-6});
        wrong[key] = value;
        EXPECT_THAT(refusal_of_samples({context(3), wrong}), HasSubstr(words)) << key;
    }
    for (const int second : {0, 1}) {
        auto twice = point("triplets", {1e-6});
        twice["second_peer"] = second;
        EXPECT_THAT(refusal_of_samples({context(3), twice}), HasSubstr("a rank with itself"));
    }
}

TEST(ObservationTest, RefusesAContextWhoseNumbersDoNotFit) {
    const std::vector<std::tuple<std::string, Json, std::string>> slips = {
        {"version", 4294967297, "version 4294967297"},
        {"version", 0, "version 0"},
        {"ranks", 4294967298, "no number of ranks"},
        {"ranks", 2'000'000'000, "has 3 places, not one for each of the 2000000000 ranks"},
        {"placement", Json::array(), "'placement' is missing"},
    };
    for (const auto& [key, value, words] : slips) {
        auto wrong = context(3);
        wrong[key] = value;
        EXPECT_THAT(refusal_of_samples({wrong, point("pairs", {1e-6})}), HasSubstr(words)) << key;
    }
}

TEST(ObservationTest, RefusesFilesOfDifferentPlatformsByWhatDiffers) {
    const auto folder = std::filesystem::temp_directory_path() / "lanewise-observations";
    std::filesystem::create_directories(folder);
    const auto write = [&folder](const char *name, const Json& head) {
        std::ofstream(folder / name) << head.dump() << '\n'
                                     << point("pairs", {1e-6}).dump() << '\n';
        return (folder / name).string();
    };
    auto other = context(2);
    other["mpi"]["library"] = "MPICH 4";
    auto over_tcp = context(2);
    over_tcp["transport"] = "tcp";
    auto cold = context(2);
    cold["buffers"] = {{"caches", "cold"}, {"offset_bytes", 64}, {"turns", 8}, {"pages", "huge"}};
    auto plain = context(2);
    plain["buffers"] = {{"caches", "warm"}, {"offset_bytes", 0}, {"turns", 1}, {"pages", "small"}};
    const auto first = write("a.jsonl", context(2));
    const std::vector<std::string> alike{first, write("plain.jsonl", plain)};
    const std::vector<std::string> ranks{first, write("b.jsonl", context(3))};
    const std::vector<std::string> library{first, write("c.jsonl", other)};
    const std::vector<std::string> transport{first, write("d.jsonl", over_tcp)};
    const std::vector<std::string> buffers{first, write("e.jsonl", cold)};
    const auto together = read_observations(alike);
    ASSERT_EQ(together->all.size(), 1u) << "the same point of two launches";
    EXPECT_EQ(together->all[0].sorted_s.size(), 2u);
    EXPECT_THAT(read_observations(ranks).failure().sentence, HasSubstr("ranks 3"));
    EXPECT_THAT(read_observations(library).failure().sentence, HasSubstr("MPI MPICH 4"));
    EXPECT_THAT(read_observations(transport).failure().sentence,
                HasSubstr("transport tcp, the files before it with the MPI's choice; fit"));
    EXPECT_THAT(read_observations(buffers).failure().sentence,
                HasSubstr("buffers cold,unaligned=64,rotating=8,huge, the files before it with "
                          "warm; fit"));
    std::filesystem::remove_all(folder);
}

TEST(ObservationTest, TakesTheGeometricMeanOfTheLaunchesMedians) {
    const auto path = std::filesystem::temp_directory_path() / "lanewise-launches.jsonl";
    std::ofstream(path) << context(2).dump() << '\n'
                        << point("pairs", {1e-6, 1e-6, 1e-6}).dump() << '\n'
                        << point("pairs", {4e-6}).dump() << '\n';
    const auto seen = read_observations(std::vector<std::string>{path.string()});
    ASSERT_TRUE(seen) << seen.failure().sentence;
    ASSERT_EQ(seen->all.size(), 1u);
    EXPECT_DOUBLE_EQ(seen->all[0].time_s, 2e-6) << "a launch of many samples counts no more";
    EXPECT_EQ(seen->all[0].launches_s.size(), 2u);
    EXPECT_EQ(seen->all[0].sorted_s.size(), 4u);
    std::filesystem::remove(path);
}

TEST(ObservationTest, TakesTheMeanOfLaunchesWhereOneTakesNoTime) {
    const double medians_s[] = {0.0, 4e-6};
    EXPECT_DOUBLE_EQ(centre_of(medians_s), 2e-6);
}

TEST(ObservationTest, ReadsTheLauncherOfEitherVersion) {
    auto older = context(2);
    older.erase("launcher");
    older["version"] = 1;
    older["fabric"] = "openmpi";
    for (const auto& head : {context(2), older}) {
        const Json records[] = {head};
        const auto seen = observations_of(records, "f.jsonl");
        ASSERT_TRUE(seen) << seen.failure().sentence;
        EXPECT_EQ(seen->conditions.launcher, "openmpi");
    }
}

}  // namespace
}  // namespace lanewise::model
