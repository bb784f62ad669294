// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/config.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::abi {
namespace {

TEST(ConfigTest, WithoutAWordThereIsOnePortOnTheLoopbackInterface) {
    const Result<Config> config = read_config(ConfigVariables{});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->interfaces, std::vector<std::string>{"lo"});
    EXPECT_EQ(config->link_layer, LinkLayer::ethernet);
}

TEST(ConfigTest, PortsAreNamesBetweenCommas) {
    const Result<Config> config = read_config({.ports = "eth0,eth1", .link_layer = "infiniband"});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->interfaces, (std::vector<std::string>{"eth0", "eth1"}));
    EXPECT_EQ(config->link_layer, LinkLayer::infiniband);
}

TEST(ConfigTest, MoreThanTwoPortsAreRefused) {
    const Result<Config> config = read_config({.ports = "a,b,c", .link_layer = nullptr});
    ASSERT_FALSE(config);
    EXPECT_NE(config.failure().sentence.find("a,b,c"), std::string::npos);
}

TEST(ConfigTest, ALidMaskHasOneDigitUpToSeven) {
    const Result<Config> config = read_config({.lid_mask_bits = "3"});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->lids.mask_bits, 3U);
    EXPECT_FALSE(read_config({.lid_mask_bits = "8"}));
    EXPECT_FALSE(read_config({.lid_mask_bits = "12"}));
}

TEST(ConfigTest, LidsAreGivenByAddress) {
    const Result<Config> config =
        read_config({.lid_mask_bits = "2", .lids = "10.0.0.1=16,10.0.0.2=20"});
    ASSERT_TRUE(config);
    ASSERT_EQ(config->lids.given.size(), 2U);
    EXPECT_EQ(config->lids.given[1].lid, 20U);
    for (const char *wrong :
         {"10.0.0.1", "10.0.0.1=0", "10.0.0.1=18", "10.0.0.1=16x", "x=16", "10.0.0.1=49152"}) {
        EXPECT_FALSE(read_config({.lid_mask_bits = "2", .lids = wrong})) << wrong;
    }
}

TEST(ConfigTest, TheLongestMtuIsOneThatPathsHave) {
    const Result<Config> config = read_config({.mtu = "1024"});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->mtu_max, Mtu::b1024);
    EXPECT_FALSE(read_config({.mtu = "1500"}));
}

TEST(ConfigTest, AnUnknownLinkLayerIsNamed) {
    const Result<Config> config = read_config({.ports = "lo", .link_layer = "iwarp"});
    ASSERT_FALSE(config);
    EXPECT_NE(config.failure().sentence.find("iwarp"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::verbs::abi
