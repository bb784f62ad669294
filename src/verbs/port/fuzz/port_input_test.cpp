// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/fuzz/port_input.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lanewise::verbs::port {
namespace {

TEST(PortInput, OfAnyBytesDoesNoHarm) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::uint8_t> input(random() % 400);
        for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
        EXPECT_EQ(fuzz_port(input), "") << "seed " << seed;
    }
}

}  // namespace
}  // namespace lanewise::verbs::port
