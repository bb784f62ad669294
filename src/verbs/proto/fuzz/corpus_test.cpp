// SPDX-License-Identifier: BSD-3-Clause
//
// Every input that the fuzzers have kept, played once more.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "verbs/proto/testing/fuzz.hpp"

namespace lanewise::verbs::testing {
namespace {

std::size_t play(const char *folder, std::string (*fuzz)(Input)) {
    std::size_t played = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(LANEWISE_CORPUS) / folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
        const std::vector<std::uint8_t> input(read.begin(), read.end());
        EXPECT_EQ(fuzz(input), "") << entry.path();
        ++played;
    }
    return played;
}

TEST(Corpus, OfPacketsShowsNothingWrong) {
    EXPECT_GE(play("packet", fuzz_packet), 20u);
}

TEST(Corpus, OfScriptsForADeviceShowsNothingWrong) {
    EXPECT_GE(play("engine", fuzz_engine), 50u);
}

}  // namespace
}  // namespace lanewise::verbs::testing
