// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/placement_file.hpp"

#include <gtest/gtest.h>

namespace lanewise::collectives {
namespace {

constexpr const char *two_sites = R"({
  "schema": "lanewise-placement", "version": 1,
  "hosts": [{"host": "a1", "site": "a", "address": "10.1.0.1"}, {"host": "b1", "site": "b"}],
  "ranks": [{"rank": 0, "host": "a1", "site": "a"}, {"rank": 1, "host": "b1", "site": "b"}]
})";

std::string with(std::string text, const std::string& old, const std::string& replacement) {
    return text.replace(text.find(old), old.size(), replacement);
}

std::string fault(const std::string& text) {
    const auto read = parse_placement_file(text, "p.json");
    return read ? "" : read.failure().sentence;
}

TEST(PlacementFile, FindsARankByTheHostThatItRunsOn) {
    const auto read = parse_placement_file(two_sites, "p.json");

    ASSERT_TRUE(read);
    EXPECT_EQ(read->find("b1", 0)->site, "b");
}

TEST(PlacementFile, FindsARankByItsNumberWhereItsHostIsNotListed) {
    const auto read = parse_placement_file(two_sites, "p.json");

    ASSERT_TRUE(read);
    EXPECT_EQ(read->find("laptop", 1)->host, "b1");
    EXPECT_FALSE(read->find("laptop", 2));
}

constexpr const char *platform = R"({
  "schema": "lanewise-platform", "version": 1,
  "hosts": ["a1", "a1", "b1"], "sites": ["a", "a", "b"]
})";

TEST(PlacementFile, IsReadFromThePlatformsSites) {
    const auto read = parse_placement_file(platform, "p.json");

    ASSERT_TRUE(read);
    EXPECT_EQ(read->find("b1", 0)->site, "b");
    EXPECT_EQ(read->find("elsewhere", 1)->host, "a1");
}

TEST(PlacementFile, IsEmptyForAPlatformWithoutSites) {
    const auto read = parse_placement_file(with(platform, R"(["a", "a", "b"])", "[]"), "p.json");

    ASSERT_TRUE(read);
    EXPECT_TRUE(read->empty());
}

TEST(PlacementFile, RefusesAHostOfAPlatformAtTwoSites) {
    EXPECT_NE(fault(with(platform, R"(["a", "a", "b"])", R"(["a", "b", "b"])")).find("two sites"),
              std::string::npos);
}

TEST(PlacementFile, RefusesAPlatformWithFewerSitesThanHosts) {
    EXPECT_NE(
        fault(with(platform, R"(["a", "a", "b"])", R"(["a"])")).find("one site for each host"),
        std::string::npos);
}

TEST(PlacementFile, RefusesAnUnknownKeyByName) {
    EXPECT_EQ(fault(with(two_sites, "\"address\"", "\"colour\"")),
              "p.json: hosts[0]: unknown key 'colour'; see schema/placement.schema.json");
}

TEST(PlacementFile, RefusesARankWithoutASite) {
    EXPECT_EQ(fault(with(two_sites, R"("host": "b1", "site": "b"}])", R"("host": "b1"}])")),
              "p.json: hosts[1] lacks 'site'; see schema/placement.schema.json");
}

TEST(PlacementFile, RefusesAFileWithoutHostsOrRanks) {
    const std::string head = R"({"schema": "lanewise-placement", "version": 1, )";
    EXPECT_EQ(fault(head + R"("ranks": []})"),
              "p.json: lacks 'hosts'; see schema/placement.schema.json");
    EXPECT_EQ(fault(head + R"("hosts": []})"),
              "p.json: lacks 'ranks'; see schema/placement.schema.json");
}

TEST(PlacementFile, RefusesAHostThatIsNamedTwice) {
    EXPECT_EQ(fault(with(two_sites, R"({"host": "b1", "site": "b"}])",
                         R"({"host": "a1", "site": "b"}])")),
              "p.json: hosts[1]: names host 'a1' again; see schema/placement.schema.json");
}

TEST(PlacementFile, RefusesHalfAFile) {
    EXPECT_EQ(fault(std::string(two_sites).substr(0, 90)),
              "p.json: is not JSON, or only part of it; see schema/placement.schema.json");
}

}  // namespace
}  // namespace lanewise::collectives
