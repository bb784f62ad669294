// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/config.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::abi {
namespace {

TEST(ConfigTest, WithoutAWordThereIsOnePortOnTheLoopbackInterface) {
    const Result<std::vector<Config>> devices = read_devices(ConfigVariables{});
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->front().interfaces, std::vector<std::string>{"lo"});
    EXPECT_EQ(devices->front().link_layer, LinkLayer::ethernet);
}

TEST(ConfigTest, PortsAreNamesBetweenCommas) {
    const Result<std::vector<Config>> devices =
        read_devices({.ports = "eth0,eth1", .link_layer = "infiniband"});
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->front().interfaces, (std::vector<std::string>{"eth0", "eth1"}));
    EXPECT_EQ(devices->front().link_layer, LinkLayer::infiniband);
}

TEST(ConfigTest, DevicesLieBetweenSemicolonsAndAreNumberedFromZero) {
    const Result<std::vector<Config>> devices =
        read_devices({.ports = "eth0;eth1,eth2", .pcap = "packets.pcap"});
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->size(), 2U);
    EXPECT_EQ((*devices)[0].name, "lanewise0");
    EXPECT_EQ((*devices)[0].interfaces, std::vector<std::string>{"eth0"});
    EXPECT_EQ((*devices)[0].pcap, "packets.pcap");
    EXPECT_EQ((*devices)[1].name, "lanewise1");
    EXPECT_EQ((*devices)[1].interfaces, (std::vector<std::string>{"eth1", "eth2"}));
    EXPECT_EQ((*devices)[1].pcap, "packets.pcap.lanewise1");
}

TEST(ConfigTest, MoreThanEightDevicesAreRefused) {
    const Result<std::vector<Config>> devices = read_devices({.ports = "a;b;c;d;e;f;g;h;i"});
    ASSERT_FALSE(devices);
    EXPECT_NE(devices.failure().sentence.find("9 devices"), std::string::npos);
}

TEST(ConfigTest, MoreThanTwoPortsAreRefused) {
    const Result<std::vector<Config>> devices =
        read_devices({.ports = "a,b,c", .link_layer = nullptr});
    ASSERT_FALSE(devices);
    EXPECT_NE(devices.failure().sentence.find("a,b,c"), std::string::npos);
}

TEST(ConfigTest, ALidMaskHasOneDigitUpToSeven) {
    const Result<std::vector<Config>> devices = read_devices({.lid_mask_bits = "3"});
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->front().lids.mask_bits, 3U);
    EXPECT_FALSE(read_devices({.lid_mask_bits = "8"}));
    EXPECT_FALSE(read_devices({.lid_mask_bits = "12"}));
}

TEST(ConfigTest, LidsAreGivenByAddress) {
    const Result<std::vector<Config>> devices =
        read_devices({.lid_mask_bits = "2", .lids = "10.0.0.1=16,10.0.0.2=20"});
    ASSERT_TRUE(devices);
    ASSERT_EQ(devices->front().lids.given.size(), 2U);
    EXPECT_EQ(devices->front().lids.given[1].lid, 20U);
    for (const char *wrong :
         {"10.0.0.1", "10.0.0.1=0", "10.0.0.1=18", "10.0.0.1=16x", "x=16", "10.0.0.1=49152"}) {
        EXPECT_FALSE(read_devices({.lid_mask_bits = "2", .lids = wrong})) << wrong;
    }
}

TEST(ConfigTest, TheLongestMtuIsOneThatPathsHave) {
    const Result<std::vector<Config>> devices = read_devices({.mtu = "1024"});
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->front().mtu_max, Mtu::b1024);
    EXPECT_FALSE(read_devices({.mtu = "1500"}));
}

TEST(ConfigTest, CongestionIsMetUnlessItIsToldOtherwise) {
    EXPECT_EQ(read_devices(ConfigVariables{})->front().congestion, Congestion::dcqcn);
    EXPECT_EQ(read_devices({.congestion = "none"})->front().congestion, Congestion::none);
    const Result<std::vector<Config>> devices = read_devices({.congestion = "timely"});
    ASSERT_FALSE(devices);
    EXPECT_NE(devices.failure().sentence.find("timely"), std::string::npos);
}

TEST(ConfigTest, MemoryIsUsedUnlessItIsToldOtherwise) {
    for (const char *on : {"", "1"}) {
        EXPECT_TRUE(read_devices({.shared_memory = on})->front().uses_memory);
    }
    EXPECT_FALSE(read_devices({.shared_memory = "0"})->front().uses_memory);
    EXPECT_EQ(read_devices({.shared_memory = "off"}).failure().sentence,
              "LANEWISE_HCA_SHARED_MEMORY=off is unknown; use 0 or 1");
}

TEST(ConfigTest, NothingIsProtectedUnlessItIsToldOtherwise) {
    for (const char *off : {"", "0"}) {
        EXPECT_FALSE(read_devices({.is_protected = off})->front().is_protected);
    }
    EXPECT_TRUE(read_devices({.is_protected = "1"})->front().is_protected);
    EXPECT_EQ(read_devices({.is_protected = "yes"}).failure().sentence,
              "LANEWISE_HCA_PROTECTED=yes is unknown; use 0 or 1");
}

TEST(ConfigTest, AnUnknownLinkLayerIsNamed) {
    const Result<std::vector<Config>> devices =
        read_devices({.ports = "lo", .link_layer = "iwarp"});
    ASSERT_FALSE(devices);
    EXPECT_NE(devices.failure().sentence.find("iwarp"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::verbs::abi
