// SPDX-License-Identifier: BSD-3-Clause

#include "tune/finalists.hpp"

#include <gtest/gtest.h>

namespace lanewise::tune {
namespace {

constexpr const char *text = R"({"points": [{"collective": "ibcast", "message_bytes": 64,
    "default_s": 1e-6, "repetition_s": 3e-6, "candidates": [{"origin": "mpi", "algorithm": "chain",
    "segment_bytes": 8192, "lanes": 1}]}]})";

TEST(Finalists, AreReadAsTheyAreWritten) {
    const auto read = parse_finalists(text, "f.json");

    ASSERT_TRUE(read) << read.failure().sentence;
    ASSERT_EQ(read->size(), 1u);
    const auto& point = read->front();
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
    const std::string origin = "\"origin\": \"mpi\"";
    auto changed = std::string(text);
    changed.replace(changed.find(origin), origin.size(), "\"origin\": \"moon\"");

    const auto read = parse_finalists(changed, "f.json");

    ASSERT_FALSE(read);
    EXPECT_NE(read.failure().sentence.find("moon"), std::string::npos) << read.failure().sentence;
    EXPECT_NE(read.failure().sentence.find("f.json"), std::string::npos);
    EXPECT_FALSE(parse_finalists("{}", "f.json"));
}

}  // namespace
}  // namespace lanewise::tune
