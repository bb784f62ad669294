// SPDX-License-Identifier: BSD-3-Clause

#include "paths/alternate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lanewise::paths {
namespace {

using ::testing::HasSubstr;

Gid gid(const std::string& text) {
    Gid made{};
    EXPECT_TRUE(read_gid(text, made)) << text;
    return made;
}

Port port(std::uint8_t number, const std::string& address) {
    return {.number = number,
            .active = true,
            .mtu_bytes = 4096,
            .gids = {{0, gid(address), GidType::unknown}}};
}

Route route(const std::string& from, const std::string& to) {
    return {.port = 1, .is_global = true, .source = gid(from), .destination = gid(to)};
}

const std::vector<Port> two_ports{port(1, "::ffff:10.1.0.1"), port(2, "::ffff:10.1.1.1")};
const Route primary = route("::ffff:10.1.0.1", "::ffff:10.1.0.2");

TEST(Alternate, TakesTheOtherPortAndThePeersAddressThatGoesWithIt) {
    const Result<Route> chosen = choose_alternate(primary, two_ports, 1024, nullptr);
    ASSERT_TRUE(chosen) << chosen.failure().sentence;
    EXPECT_EQ(chosen->port, 2);
    EXPECT_EQ(text_of(chosen->source), "::ffff:10.1.1.1");
    EXPECT_EQ(text_of(chosen->destination), "::ffff:10.1.1.2");
}

TEST(Alternate, LeadsBackFromWhereItLed) {
    const Result<Route> there = choose_alternate(primary, two_ports, 1024, nullptr);
    ASSERT_TRUE(there);
    const Result<Route> back = choose_alternate(*there, two_ports, 1024, nullptr);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, primary);
}

TEST(Alternate, LeadsToOneselfOverTheOtherPortToo) {
    const Route self = route("::ffff:10.1.0.1", "::ffff:10.1.0.1");
    const Result<Route> chosen = choose_alternate(self, two_ports, 1024, nullptr);
    ASSERT_TRUE(chosen) << chosen.failure().sentence;
    EXPECT_EQ(text_of(chosen->destination), "::ffff:10.1.1.1");
}

TEST(Alternate, IsNoneWhereHostsNumberTheirPortsDifferently) {
    const std::vector<Port> ports{port(1, "::ffff:10.1.0.1"), port(2, "::ffff:10.1.1.7")};
    const Result<Route> chosen = choose_alternate(primary, ports, 1024, nullptr);
    ASSERT_FALSE(chosen);
    EXPECT_THAT(chosen.failure().sentence, HasSubstr("lanewise rdma discover"));
}

TEST(Alternate, IsNotOnAPortThatIsDown) {
    std::vector<Port> ports = two_ports;
    ports[1].active = false;
    const Result<Route> chosen = choose_alternate(primary, ports, 1024, nullptr);
    ASSERT_FALSE(chosen);
    EXPECT_THAT(chosen.failure().sentence, HasSubstr("port 2 is down"));
}

TEST(Alternate, IsNotOnAPortWithSmallerPackets) {
    std::vector<Port> ports = two_ports;
    ports[1].mtu_bytes = 512;
    const Result<Route> chosen = choose_alternate(primary, ports, 1024, nullptr);
    ASSERT_FALSE(chosen);
    EXPECT_THAT(chosen.failure().sentence, HasSubstr("512 bytes a packet"));
}

TEST(Alternate, TakesASecondGidOfTheOnlyPort) {
    Port only = port(1, "::ffff:10.1.0.1");
    only.gids.push_back({3, gid("::ffff:10.9.0.1"), GidType::unknown});
    const Result<Route> chosen = choose_alternate(primary, std::span(&only, 1), 1024, nullptr);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->source_index, 3);
    EXPECT_EQ(text_of(chosen->destination), "::ffff:10.9.0.2");
}

TEST(Alternate, TakesAnAddressOfTheTypeOfThePrimaryPath) {
    const Gid first = gid("::ffff:10.1.0.1");
    const Gid second = gid("::ffff:10.1.1.1");
    std::vector<Port> ports = two_ports;
    ports[0].gids = {{0, first, GidType::roce_v1}, {1, first, GidType::roce_v2}};
    ports[1].gids = {{0, second, GidType::roce_v1}, {1, second, GidType::roce_v2}};
    for (const std::uint8_t index : {std::uint8_t{0}, std::uint8_t{1}}) {
        Route at = primary;
        at.source_index = index;
        const Result<Route> chosen = choose_alternate(at, ports, 1024, nullptr);
        ASSERT_TRUE(chosen) << chosen.failure().sentence;
        EXPECT_EQ(chosen->source_index, index);
    }
}

TEST(Alternate, TakesNoAddressOfAnotherType) {
    std::vector<Port> ports = two_ports;
    ports[0].gids[0].type = GidType::roce_v2;
    ports[1].gids[0].type = GidType::roce_v1;
    EXPECT_FALSE(choose_alternate(primary, ports, 1024, nullptr));
}

TEST(Alternate, GoesByTheAddressWhereTheTypeIsNotKnown) {
    std::vector<Port> ports = two_ports;
    ports[0].gids[0].type = GidType::roce_v2;
    EXPECT_TRUE(choose_alternate(primary, ports, 1024, nullptr));
}

TEST(Alternate, WalksTheLidsOfAPortByItsMask) {
    const Port only{
        .number = 1, .active = true, .mtu_bytes = 4096, .lid = 16, .lid_mask_bits = 2, .gids = {}};
    Route at{.port = 1, .source_bits = 3, .destination_lid = 35};
    const Result<Route> chosen = choose_alternate(at, std::span(&only, 1), 1024, nullptr);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->source_bits, 0);
    EXPECT_EQ(chosen->destination_lid, 32);
}

TEST(Alternate, FindsThePeersLidOnTheOtherPort) {
    const std::vector<Port> ports{
        {.number = 1, .active = true, .mtu_bytes = 4096, .lid = 0x101, .gids = {}},
        {.number = 2, .active = true, .mtu_bytes = 4096, .lid = 0x201, .gids = {}}};
    const Route at{.port = 1, .destination_lid = 0x102};
    const Result<Route> chosen = choose_alternate(at, ports, 1024, nullptr);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->port, 2);
    EXPECT_EQ(chosen->destination_lid, 0x202);
}

TEST(Alternate, FollowsThePathFileRatherThanTheConvention) {
    const Result<Directory> directory = read_directory(R"({
        "schema": "lanewise-paths", "version": 1, "hosts": [
          {"name": "a", "ports": [
            {"device": "mlx5_0", "port": 1, "rail": "r", "gids": ["::ffff:10.1.0.1"]},
            {"device": "mlx5_0", "port": 2, "rail": "s", "gids": ["::ffff:10.1.1.1"]}]},
          {"name": "b", "ports": [
            {"device": "mlx5_0", "port": 1, "rail": "s", "gids": ["::ffff:10.1.1.99"]},
            {"device": "mlx5_0", "port": 2, "rail": "r", "gids": ["::ffff:10.1.0.2"]}]}]})",
                                                       "paths.json");
    ASSERT_TRUE(directory) << directory.failure().sentence;
    const Result<Route> chosen = choose_alternate(primary, two_ports, 1024, &*directory);
    ASSERT_TRUE(chosen) << chosen.failure().sentence;
    EXPECT_EQ(text_of(chosen->destination), "::ffff:10.1.1.99");
}

TEST(CheckAlternate, RefusesThePrimaryItself) {
    const Outcome fits = check_alternate(primary, primary, two_ports, 1024);
    ASSERT_FALSE(fits);
    EXPECT_THAT(fits.failure().sentence, HasSubstr("equals the primary"));
}

class BadPathFile : public ::testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(BadPathFile, IsRefusedByTheNameOfWhatIsWrong) {
    const Result<Directory> read = read_directory(GetParam().first, "paths.json");
    ASSERT_FALSE(read);
    EXPECT_THAT(read.failure().sentence, HasSubstr(GetParam().second));
    EXPECT_THAT(read.failure().sentence, HasSubstr("paths.json: "));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPathFile,
    ::testing::Values(
        std::pair{"hosts", "not JSON"}, std::pair{"[]", "not a JSON object"},
        std::pair{R"({"schema":"lanewise-paths","version":2,"hosts":[]})", "version 1"},
        std::pair{R"({"schema":"lanewise-paths","version":1,"hosts":[],"x":1})", "'x'"},
        std::pair{R"({"schema":"lanewise-paths","version":1,"hosts":[{"name":"a"}]})", "'ports'"},
        std::pair{R"({"schema":"lanewise-paths","version":1,"hosts":[{"name":"a","ports":[
                     {"device":"d","port":0,"lid":1}]}]})",
                  "hosts[0].ports[0].port' is 0, not an integer of at least 1"},
        std::pair{R"({"schema":"lanewise-paths","version":1,"hosts":[{"name":"a","ports":[
                     {"device":"d","port":1,"gids":["10.0.0"]}]}]})",
                  "not a GID"},
        std::pair{R"({"schema":"lanewise-paths","version":1,"hosts":[{"name":"a","ports":[
                     {"device":"d","port":1}]}]})",
                  "neither 'gids' nor 'lid'"}));

}  // namespace
}  // namespace lanewise::paths
