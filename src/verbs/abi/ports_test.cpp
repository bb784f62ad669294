// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/ports.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <vector>

namespace lanewise::verbs::abi {
namespace {

Address ipv4(const char *text) {
    in_addr address{};
    EXPECT_EQ(inet_pton(AF_INET, text, &address), 1);
    return port::address_of(address);
}

Port port_with(const char *address) {
    Port port;
    port.gids[0] = ipv4(address);
    return port;
}

TEST(GidTableTest, AddressesThatStayKeepTheirIndex) {
    const std::vector<Address> before{ipv4("10.0.0.1"), ipv4("10.0.0.2"), ipv4("10.0.0.3")};
    const std::vector<Address> after{ipv4("10.0.0.3"), ipv4("10.0.0.4")};
    const GidTable table = updated(updated({}, before), after);
    EXPECT_EQ(table[0], ipv4("10.0.0.4"));
    EXPECT_EQ(table[1], no_address);
    EXPECT_EQ(table[2], ipv4("10.0.0.3"));
}

TEST(GidTableTest, AddressesBeyondTheTableAreLeftOut) {
    std::vector<Address> many;
    for (unsigned number = 0; number < gid_table_length + 4; ++number) {
        Address address{};
        address[15] = static_cast<std::uint8_t>(number + 1);
        many.push_back(address);
    }
    const GidTable table = updated({}, many);
    EXPECT_EQ(table.back(), many[gid_table_length - 1]);
}

TEST(PortTest, APortIsActiveWithACarrierAndAnAddress) {
    port::Interface interface {
        .name = "eth0", .carrier = true, .mac = {}, .addresses = {}
    };
    EXPECT_FALSE(updated(Port{}, interface).active);
    interface.addresses = {ipv4("10.0.0.1")};
    EXPECT_TRUE(updated(Port{}, interface).active);
    interface.carrier = false;
    EXPECT_FALSE(updated(Port{}, interface).active);
}

TEST(MtuTest, ThePathMtuIsTheLargestThatFits) {
    EXPECT_EQ(active_mtu(1500), Mtu::b1024);
    EXPECT_EQ(active_mtu(9000), Mtu::b4096);
    EXPECT_EQ(active_mtu(4176), Mtu::b4096);
    EXPECT_EQ(active_mtu(4175), Mtu::b2048);
    EXPECT_EQ(active_mtu(300), Mtu::b256);
}

TEST(PortTest, AnAddressBelongsToThePortThatHasIt) {
    const std::vector<Port> ports{port_with("10.0.0.1"), port_with("10.1.0.1")};
    EXPECT_EQ(port_of(ports, ipv4("10.0.0.1")), 1);
    EXPECT_EQ(port_of(ports, ipv4("10.1.0.1")), 2);
    EXPECT_EQ(port_of(ports, ipv4("10.2.0.1")), std::nullopt);
    EXPECT_EQ(port_of(ports, no_address), std::nullopt);
}

TEST(LidTest, EveryPeerFindsTheAddressOfALid) {
    const Port here = port_with("10.3.65.7");
    const Port there = port_with("10.3.64.200");
    EXPECT_EQ(address_of_lid(here, lid_of(there, {}), {}), ipv4("10.3.64.200"));
    EXPECT_EQ(address_of_lid(there, lid_of(here, {}), {}), ipv4("10.3.65.7"));
}

TEST(LidTest, WithMaskBitsManyLidsLeadToOnePort) {
    const Port here = port_with("10.3.0.7");
    const Port there = port_with("10.3.1.200");
    LidPlan two_bits;
    two_bits.mask_bits = 2;
    const std::uint16_t base = lid_of(there, two_bits);
    EXPECT_EQ(base % 4, 0);
    for (std::uint16_t path = 0; path < 4; ++path) {
        const auto lid = static_cast<std::uint16_t>(base + path);
        EXPECT_EQ(address_of_lid(here, lid, two_bits), ipv4("10.3.1.200"));
    }
    EXPECT_NE(address_of_lid(here, static_cast<std::uint16_t>(base + 4), two_bits),
              ipv4("10.3.1.200"));
}

TEST(LidTest, GivenLidsLeadToTheirAddressesAndNoOthersDo) {
    const Port here = port_with("10.3.0.7");
    const LidPlan plan{.mask_bits = 1,
                       .given = {{ipv4("10.3.0.7"), 40}, {ipv4("192.168.1.1"), 42}}};
    EXPECT_EQ(lid_of(here, plan), 40);
    EXPECT_EQ(lid_of(port_with("10.3.0.8"), plan), 0);
    EXPECT_EQ(address_of_lid(here, 43, plan), ipv4("192.168.1.1"));
    EXPECT_EQ(address_of_lid(here, 44, plan), std::nullopt);
}

TEST(MtuTest, APortMayBeHeldToLess) {
    Port port;
    Config config;
    config.mtu_max = Mtu::b1024;
    port.interface.mtu_bytes = 9000;
    EXPECT_EQ(active_mtu(port, config), Mtu::b1024);
    port.interface.mtu_bytes = 700;
    EXPECT_EQ(active_mtu(port, config), Mtu::b512);
}

TEST(OtherWayTest, LeadsToTheAddressOfThePeerThatGoesWithTheOtherPort) {
    const std::vector<Port> ports{port_with("10.1.0.1"), port_with("10.1.1.1")};
    AddressVector way;
    way.source = ipv4("10.1.0.1");
    way.destination = ipv4("10.1.0.2");
    const auto other = other_way(ports, way);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->port, 2);
    EXPECT_EQ(other->source, ipv4("10.1.1.1"));
    EXPECT_EQ(other->destination, ipv4("10.1.1.2"));
    const auto back = other_way(ports, *other);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->destination, way.destination);
}

TEST(OtherWayTest, IsNotGuessedWhereAddressesFollowNoConvention) {
    const std::vector<Port> ports{port_with("10.1.0.1"), port_with("10.9.1.7")};
    AddressVector way;
    way.source = ipv4("10.1.0.1");
    way.destination = ipv4("10.1.0.2");
    EXPECT_EQ(other_way(ports, way), std::nullopt);
    EXPECT_EQ(other_way(std::span(ports).first(1), way), std::nullopt);
}

TEST(OtherWayTest, DoesNotLeadToAnotherGroup) {
    const std::vector<Port> ports{port_with("10.1.0.1"), port_with("10.1.1.1")};
    AddressVector way;
    way.source = ipv4("10.1.0.1");
    way.destination = ipv4("239.1.0.5");
    EXPECT_EQ(other_way(ports, way), std::nullopt);
}

TEST(LidTest, APortWithoutAddressHasNone) {
    EXPECT_EQ(lid_of(Port{}, {}), 0);
    EXPECT_EQ(address_of_lid(Port{}, 5, {}), std::nullopt);
}

}  // namespace
}  // namespace lanewise::verbs::abi
