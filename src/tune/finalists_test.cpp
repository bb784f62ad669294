// SPDX-License-Identifier: BSD-3-Clause

#include "tune/finalists.hpp"

#include <gtest/gtest.h>

namespace lanewise::tune {
namespace {

constexpr const char *text = R"({
    "stage": "screening",
    "points": [{
        "collective": "ibcast", "message_bytes": 64, "default_s": 1e-6, "repetition_s": 3e-6,
        "candidates": [
            {"origin": "mpi", "algorithm": "chain", "segment_bytes": 8192, "lanes": 1}]}]})";

TEST(Finalists, AreReadAsTheyAreWritten) {
    const auto read = parse_finalists(text, "f.json");

    ASSERT_TRUE(read) << read.failure().sentence;
    EXPECT_EQ(read->stage, Stage::screening);
    ASSERT_EQ(read->points.size(), 1u);
    const auto& point = read->points.front();
    EXPECT_EQ(name_of(point.operation), "ibcast");
    EXPECT_EQ(point.message_bytes, 64u);
    EXPECT_EQ(point.default_s, 1e-6);
    EXPECT_EQ(point.repetition_s, 3e-6);
    ASSERT_EQ(point.candidates.size(), 1u);
    EXPECT_EQ(point.candidates[0].origin, Origin::mpi);
    EXPECT_EQ(point.candidates[0].algorithm, "chain");
    EXPECT_EQ(point.candidates[0].segment_bytes, 8192);
}

TEST(Finalists, ThatAreNotUnderstoodAreRefusedByName) {
    for (const std::string word : {"mpi", "screening"}) {
        auto changed = std::string(text);
        changed.replace(changed.find(word), word.size(), "moon");

        const auto read = parse_finalists(changed, "f.json");

        ASSERT_FALSE(read) << word;
        const auto& sentence = read.failure().sentence;
        EXPECT_NE(sentence.find("moon"), std::string::npos) << sentence;
        EXPECT_NE(sentence.find("f.json"), std::string::npos) << sentence;
    }
    EXPECT_FALSE(parse_finalists("{}", "f.json"));
}

}  // namespace
}  // namespace lanewise::tune
