// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/fuzz/cm_input.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanewise::verbs::cm {
namespace {

TEST(CmInput, OfAnyBytesDoesNoHarm) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::uint8_t> input(random() % 400);
        for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
        ASSERT_EQ(fuzz_cm(input), "") << "seed " << seed;
    }
}

}  // namespace
}  // namespace lanewise::verbs::cm
