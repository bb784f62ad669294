// SPDX-License-Identifier: BSD-3-Clause
//
// Going on with an interrupted file: what of it is kept, and which files are
// refused.

#include "measure/session/records.hpp"
#include "measure/definitions/definition.hpp"
#include "measure/session/buffer_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace lanewise::measure::session {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Json context_of(int ranks) {
    return {{"record", "context"},
            {"schema", "lanewise-samples"},
            {"version", 2},
            {"mpi", {{"family", "openmpi"}, {"library", "Open MPI v4.1.4"}, {"standard", "3.1"}}},
            {"launcher", "openmpi"},
            {"launcher_args", "--bind-to core"},
            {"ranks", ranks},
            {"clock", "monotonic"},
            {"method", "max"},
            {"start", "barrier"},
            {"stopping", {{"rule", "median"}, {"confidence", 0.95}}},
            {"pipeline_length", 1},
            {"root", 0},
            {"weights", {1.0, 2.0}},
            {"reply", "same"},
            {"order", "parallel"},
            {"window", 160},
            {"buffers", buffers_record(measure::plain_buffers)}};
}

Json point_of(const std::string& operation, std::uint64_t bytes) {
    return {{"record", "point"}, {"operation", operation}, {"message_bytes", bytes}};
}

class UnfinishedFile : public ::testing::Test {
  protected:
    UnfinishedFile() {
        char name[] = "/tmp/lanewise-records-XXXXXX";
        folder_ = mkdtemp(name);
        path_ = folder_ + "/samples.jsonl";
    }
    ~UnfinishedFile() override { std::filesystem::remove_all(folder_); }

    // Writes whole lines and then `rest`, without a newline.
    void write(const std::vector<Json>& records, const std::string& rest = "") {
        std::ofstream file(path_, std::ios::binary);
        for (const auto& record : records) file << record.dump() << '\n';
        whole_bytes_ = static_cast<std::size_t>(file.tellp());
        file << rest;
    }
    Unfinished read(const Json& context) {
        const auto unfinished = read_unfinished(path_, context, 1);
        EXPECT_TRUE(unfinished) << (unfinished ? "" : unfinished.failure().sentence);
        return unfinished ? *unfinished : Unfinished{};
    }
    std::string refused(const Json& context) {
        const auto unfinished = read_unfinished(path_, context, 1);
        EXPECT_FALSE(unfinished);
        return unfinished ? "" : unfinished.failure().sentence;
    }

    std::string folder_;
    std::string path_;
    std::size_t whole_bytes_ = 0;
};

TEST_F(UnfinishedFile, HoldsTheTasksOfTheLaunchThatGoesOn) {
    auto second = point_of("bcast", 8);
    second["launch"] = 2;
    write({context_of(2), point_of("bcast", 8), point_of("bcast", 64), second});

    const auto first = read_unfinished(path_, context_of(2), 1);
    const auto next = read_unfinished(path_, context_of(2), 2);

    ASSERT_TRUE(first && next);
    EXPECT_THAT(first->tasks, UnorderedElementsAre("bcast 8", "bcast 64"));
    EXPECT_THAT(next->tasks, UnorderedElementsAre("bcast 8"));
    EXPECT_EQ(first->keep_bytes, whole_bytes_);
    EXPECT_EQ(next->keep_bytes, whole_bytes_);
}

TEST_F(UnfinishedFile, HoldsTheTasksThatAreDone) {
    write({context_of(4), point_of("scatter", 8), point_of("gather", 16)});

    const auto unfinished = read(context_of(4));

    EXPECT_THAT(unfinished.tasks, UnorderedElementsAre("scatter 8", "gather 16"));
    EXPECT_EQ(unfinished.points, 2u);
    EXPECT_EQ(unfinished.keep_bytes, whole_bytes_);
    EXPECT_FALSE(unfinished.truncated);
}

TEST_F(UnfinishedFile, EndsBeforeALineThatWasCut) {
    write({context_of(4), point_of("scatter", 8)}, R"({"record":"point","operation":"sc)");

    const auto unfinished = read(context_of(4));

    EXPECT_THAT(unfinished.tasks, UnorderedElementsAre("scatter 8"));
    EXPECT_EQ(unfinished.keep_bytes, whole_bytes_);
    EXPECT_TRUE(unfinished.truncated);
}

TEST_F(UnfinishedFile, EndsBeforeItsEndRecordSoThatAnotherFollows) {
    write({context_of(4), point_of("scatter", 8)});
    const auto kept_bytes = whole_bytes_;
    write({context_of(4), point_of("scatter", 8), end_record(1, 0.5)});

    EXPECT_EQ(read(context_of(4)).keep_bytes, kept_bytes);
}

TEST_F(UnfinishedFile, EndsBeforeASetOfPairsThatWasCut) {
    std::vector<Json> records = {context_of(4)};
    for (int pair = 0; pair < 6; ++pair) records.push_back(point_of("pairs", 8));
    write(records);
    const auto kept_bytes = whole_bytes_;
    for (int pair = 0; pair < 5; ++pair) records.push_back(point_of("pairs", 16));
    write(records);

    const auto unfinished = read(context_of(4));

    EXPECT_THAT(unfinished.tasks, UnorderedElementsAre("pairs 8"));
    EXPECT_EQ(unfinished.points, 6u);
    EXPECT_EQ(unfinished.keep_bytes, kept_bytes);
}

Json polling_of(std::uint64_t bytes, double interval_s) {
    return polling_record({.message_bytes = bytes, .interval_s = interval_s}, {{0.5}, {1e9}});
}

TEST_F(UnfinishedFile, HoldsTheIntervalsOfPollingThatAreDone) {
    const double odd_s = 1e-5 * std::pow(10.0, 1.0 / 3.0);
    write({context_of(2), polling_of(8, 1e-5), polling_of(8, odd_s), end_record(0, 0.5)});

    const auto unfinished = read(context_of(2));

    EXPECT_THAT(unfinished.tasks,
                UnorderedElementsAre(polling_key(8, 1e-5), polling_key(8, odd_s)));
    EXPECT_EQ(unfinished.keep_bytes, whole_bytes_ - (end_record(0, 0.5).dump().size() + 1));
    EXPECT_EQ(unfinished.points, 0u);
}

TEST_F(UnfinishedFile, EndsBeforeAmountsOfWorkThatWereCut) {
    std::vector<Json> records = {context_of(2)};
    for (std::size_t i = 0; i < post_work_wait_amounts; ++i) {
        records.push_back(post_work_wait_record({.message_bytes = 8}));
    }
    write(records);
    const auto kept_bytes = whole_bytes_;
    records.push_back(post_work_wait_record({.message_bytes = 64}));
    write(records);

    const auto unfinished = read(context_of(2));

    EXPECT_THAT(unfinished.tasks, UnorderedElementsAre(waiting_key(8)));
    EXPECT_EQ(unfinished.keep_bytes, kept_bytes);
}

TEST_F(UnfinishedFile, WithNothingInItIsBegunAnew) {
    write({});

    const auto unfinished = read(context_of(4));

    EXPECT_EQ(unfinished.keep_bytes, 0u);
    EXPECT_TRUE(unfinished.tasks.empty());
}

TEST_F(UnfinishedFile, WithAContextOnlyIsKept) {
    write({context_of(4)});

    EXPECT_EQ(read(context_of(4)).keep_bytes, whole_bytes_);
}

TEST_F(UnfinishedFile, OfOtherConditionsIsRefusedNamingThem) {
    const std::pair<const char *, Json> changes[] = {
        {"ranks", 8},
        {"method", "global"},
        {"start", "window"},
        {"clock", "wtime"},
        {"launcher", "mpich"},
        {"launcher_args", ""},
        {"pipeline_length", 4},
        {"root", 3},
        {"schema", "other"},
        {"stopping", {{"rule", "student"}}},
        {"reply", "4K"},
        {"weights", {3.0}},
        {"order", "sequential"},
        {"window", 8},
        {"buffers", {{"turns", 3}}},
    };
    for (const auto& [key, value] : changes) {
        auto context = context_of(4);
        context[key] = value;
        write({context, point_of("scatter", 8)});

        const auto sentence = refused(context_of(4));

        EXPECT_THAT(sentence, HasSubstr(path_));
        EXPECT_THAT(sentence, HasSubstr(std::string("with ") + key + " " + value.dump()));
    }
}

TEST_F(UnfinishedFile, FromBeforeLauncherArgumentsWereRecordedIsKept) {
    auto context = context_of(4);
    context.erase("launcher_args");
    write({context});

    EXPECT_EQ(read(context_of(4)).keep_bytes, whole_bytes_);
}

TEST_F(UnfinishedFile, OfANewerSchemaIsRefused) {
    auto context = context_of(4);
    context["version"] = 3;
    write({context});

    EXPECT_THAT(refused(context_of(4)), HasSubstr("version 3"));
}

TEST_F(UnfinishedFile, OfVersion1IsKept) {
    auto context = context_of(4);
    context["version"] = 1;
    context["fabric"] = context["launcher"];
    context.erase("launcher");
    write({context});

    EXPECT_EQ(read(context_of(4)).keep_bytes, whole_bytes_);
}

TEST_F(UnfinishedFile, WithoutAContextIsRefused) {
    write({point_of("scatter", 8)});

    EXPECT_THAT(refused(context_of(4)), HasSubstr("record"));
}

TEST_F(UnfinishedFile, ThatIsNotOfLanewiseIsRefused) {
    std::ofstream(path_) << "Size Latency\n1 2.5\n";

    EXPECT_THAT(refused(context_of(4)), HasSubstr(path_));
}

// Whoever edits a file by hand must not make the program stop without a word.
TEST_F(UnfinishedFile, WithRecordsOfStrangeTypesEndsBeforeThem) {
    const Json strange[] = {{{"record", 5}},
                            {{"record", "point"}, {"operation", 7}, {"message_bytes", 8}},
                            {{"record", "point"}, {"operation", "bcast"}, {"message_bytes", "8"}}};
    for (const auto& record : strange) {
        write({context_of(4), point_of("scatter", 8)});
        const auto kept_bytes = whole_bytes_;
        write({context_of(4), point_of("scatter", 8), record});

        const auto unfinished = read(context_of(4));

        EXPECT_EQ(unfinished.keep_bytes, kept_bytes) << record.dump();
    }
}

TEST(TaskPoints, CountThePairingsOfAllRanks) {
    EXPECT_EQ(task_points("scatter", 8), 1u);
    EXPECT_EQ(task_points("pairs", 8), 28u);
    EXPECT_EQ(task_points("triplets", 8), 168u);
}

TEST(PointRecord, HoldsNullWhereThereIsNoNumber) {
    measure::Measured measured;
    measured.point.peer = measured.point.second_peer = -1;
    measured.point.median_s = std::numeric_limits<double>::quiet_NaN();
    measured.point.low_s = -std::numeric_limits<double>::infinity();

    const auto record = point_record("bcast", 3, measured);

    EXPECT_TRUE(record["median_s"].is_null());
    EXPECT_TRUE(record["low_s"].is_null());
    EXPECT_EQ(record["launch"], 3);
    EXPECT_FALSE(record.contains("peer"));
    EXPECT_EQ(Json::parse(record.dump()), record);
}

TEST(PointRecord, KeepsATenthOfANanosecondAndSixDigitsOfEachSample) {
    measure::Measured measured;
    measured.values_s = {1.23456789123e-3, 1.23456789123e-5, 1.23456789123e-8, -2.5e-9, 0.0};

    const auto record = point_record("message_rate", 1, measured);

    EXPECT_EQ(record["samples_s"], Json({0.0012345679, 1.23457e-5, 1.23457e-8, -2.5e-9, 0.0}));
}

TEST(PointRecord, SaysWhoseLoopItIsAndWhatTheRanksTook) {
    measure::Measured measured;
    measured.point.peer = measured.point.second_peer = -1;
    measured.calls = 1000;
    measured.least_s = {1e-6, 3e-6, 2e-6};
    measured.most_s = {5e-6, 4e-6, 6e-6};

    const auto record = point_record("bcast", 1, measured, measure::definitions().back());

    EXPECT_EQ(record["definition"], "osu");
    EXPECT_EQ(record["calls"], 1000);
    EXPECT_EQ(record["min_s"], 2e-6);
    EXPECT_EQ(record["max_s"], 5e-6);
    EXPECT_FALSE(point_record("bcast", 1, measured).contains("definition"));
    EXPECT_FALSE(record.contains("work_s"));
}

TEST(PointRecord, KeepsTheWorkThatALoopOverlapsAndTheOperationWithoutIt) {
    measure::Measured measured;
    measured.point.peer = measured.point.second_peer = -1;
    measured.least_s = measured.most_s = {1e-6};
    measured.pure_s = {5e-6, 4e-6, 6e-6};
    measured.work_s = {7e-6, 9e-6, 8e-6};

    const auto record =
        point_record("overlapped_ibcast", 1, measured, measure::definitions().front());

    EXPECT_EQ(record["pure_s"], 5e-6);
    EXPECT_EQ(record["work_s"], 8e-6);
}

TEST(PointRecord, NamesBothPeersOfATriplet) {
    measure::Measured measured;
    measured.point.peer = 4;
    measured.point.second_peer = 6;
    measured.point.reply_bytes = 32;

    const auto record = point_record("triplets", 1, measured);

    EXPECT_EQ(record["peer"], 4);
    EXPECT_EQ(record["second_peer"], 6);
    EXPECT_EQ(record["reply_bytes"], 32);
}

}  // namespace
}  // namespace lanewise::measure::session
