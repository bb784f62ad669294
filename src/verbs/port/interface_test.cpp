// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/interface.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace lanewise::verbs::port {
namespace {

TEST(InterfaceTest, TheLoopbackInterfaceHasItsAddress) {
    const std::vector<std::string> names{"lo"};
    const std::vector<Interface> found = read_interfaces(names);
    ASSERT_EQ(found.size(), 1U);
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    EXPECT_EQ(found[0].index, 1U);
    EXPECT_TRUE(found[0].carrier);
    EXPECT_GT(found[0].mtu_bytes, 1000U);
    ASSERT_FALSE(found[0].addresses.empty());
    EXPECT_EQ(found[0].addresses[0], address_of(loopback));
}

TEST(InterfaceTest, AnInterfaceThatIsNotThereHasNoCarrier) {
    const std::vector<std::string> names{"nowhere0"};
    const std::vector<Interface> found = read_interfaces(names);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].index, 0U);
    EXPECT_FALSE(found[0].carrier);
}

TEST(InterfaceTest, AWatchIsSilentWhereNothingChanges) {
    Result<Descriptor> watch = watch_interfaces();
    ASSERT_TRUE(watch);
    EXPECT_FALSE(drain_watch(*watch));
}

TEST(AddressTest, TextIsWhatPeopleWrite) {
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    in6_addr link_local{};
    ASSERT_EQ(inet_pton(AF_INET6, "fe80::1", &link_local), 1);
    EXPECT_EQ(text(address_of(loopback)), "127.0.0.1");
    EXPECT_EQ(text(address_of(link_local)), "fe80::1");
    EXPECT_TRUE(is_link_local(address_of(link_local)));
    EXPECT_FALSE(is_link_local(address_of(loopback)));
}

}  // namespace
}  // namespace lanewise::verbs::port
