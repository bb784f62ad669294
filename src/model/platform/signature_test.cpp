// SPDX-License-Identifier: BSD-3-Clause
//
// A platform says when it was fitted, and keeps the settings of a kernel that ranks ran on.

#include "model/platform/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lanewise/status.h>

namespace lanewise::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Platform on_two_hosts() {
    Platform platform;
    platform.hosts = {"n1", "n2"};
    return platform;
}

TEST(Signature, SaysWhichLanewiseFittedThePlatformAndWhen) {
    auto platform = on_two_hosts();

    sign(platform, "2026-11-23T12:00:00Z", "login", {});

    EXPECT_EQ(platform.lanewise, lw_version());
    EXPECT_EQ(platform.created, "2026-11-23T12:00:00Z");
}

TEST(Signature, HasTheSettingsOfAKernelThatRanksRanOn) {
    auto platform = on_two_hosts();

    sign(platform, "", "n2", {{"net.ipv4.tcp_sack", "1"}});

    EXPECT_THAT(platform.fingerprint.settings, ElementsAre(Pair("net.ipv4.tcp_sack", "1")));
}

TEST(Signature, LeavesOutTheSettingsOfAnotherKernel) {
    auto platform = on_two_hosts();

    sign(platform, "", "login", {{"net.ipv4.tcp_sack", "1"}});

    EXPECT_THAT(platform.fingerprint.settings, IsEmpty());
}

}  // namespace
}  // namespace lanewise::model
