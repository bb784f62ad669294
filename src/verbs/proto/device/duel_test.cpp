// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/duel.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanewise::verbs::testing {
namespace {

TEST(Duel, OfTwoDevicesCompletesEachRequestOnceWhateverHappensToThem) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::uint8_t> script(1 + random() % 200);
        for (std::uint8_t& byte : script) byte = static_cast<std::uint8_t>(random());
        EXPECT_EQ(duel(script), "") << "seed " << seed;
    }
}

}  // namespace
}  // namespace lanewise::verbs::testing
