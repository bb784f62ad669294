// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/config.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::abi {
namespace {

TEST(ConfigTest, WithoutAWordThereIsOnePortOnTheLoopbackInterface) {
    const Result<Config> config = read_config(Settings{});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->interfaces, std::vector<std::string>{"lo"});
    EXPECT_EQ(config->personality, Personality::ethernet);
}

TEST(ConfigTest, PortsAreNamesBetweenCommas) {
    const Result<Config> config = read_config({.ports = "eth0,eth1", .personality = "infiniband"});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->interfaces, (std::vector<std::string>{"eth0", "eth1"}));
    EXPECT_EQ(config->personality, Personality::infiniband);
}

TEST(ConfigTest, MoreThanTwoPortsAreRefused) {
    const Result<Config> config = read_config({.ports = "a,b,c", .personality = nullptr});
    ASSERT_FALSE(config);
    EXPECT_NE(config.failure().sentence.find("a,b,c"), std::string::npos);
}

TEST(ConfigTest, ALidMaskHasOneDigitUpToSeven) {
    const Result<Config> config = read_config({.lid_mask_bits = "3"});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->lid_mask_bits, 3U);
    EXPECT_FALSE(read_config({.lid_mask_bits = "8"}));
    EXPECT_FALSE(read_config({.lid_mask_bits = "12"}));
}

TEST(ConfigTest, AnUnknownPersonalityIsNamed) {
    const Result<Config> config = read_config({.ports = "lo", .personality = "iwarp"});
    ASSERT_FALSE(config);
    EXPECT_NE(config.failure().sentence.find("iwarp"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::verbs::abi
