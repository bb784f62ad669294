// SPDX-License-Identifier: BSD-3-Clause
//
// Which devices and queue pairs are refused, and why; the test answers for the device.

#include "paths/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>

namespace lanewise::paths {
namespace {

using ::testing::HasSubstr;

int migrates(ibv_context *, ibv_device_attr *attributes) {
    *attributes = {};
    attributes->device_cap_flags = IBV_DEVICE_AUTO_PATH_MIG;
    return 0;
}

int cannot_migrate(ibv_context *, ibv_device_attr *attributes) {
    *attributes = {};
    attributes->device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN;
    return 0;
}

int is_gone(ibv_context *, ibv_device_attr *) {
    return EIO;
}

Outcome checked(int (*query)(ibv_context *, ibv_device_attr *)) {
    ibv_device device{};
    std::snprintf(device.name, sizeof device.name, "old0");
    ibv_context context{};
    context.device = &device;
    Calls calls;
    calls.query_device = query;
    return check_device(&context, calls);
}

TEST(CheckDevice, TakesOneThatMigratesPaths) {
    EXPECT_TRUE(checked(migrates));
}

TEST(CheckDevice, RefusesOneWithoutAutomaticPathMigrationByItsName) {
    const Outcome outcome = checked(cannot_migrate);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.failure().status, LW_ERR_UNSUPPORTED);
    EXPECT_THAT(outcome.failure().sentence, HasSubstr("old0 cannot migrate paths"));
}

TEST(CheckDevice, ReportsWhyOneCannotBeAsked) {
    const Outcome outcome = checked(is_gone);
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.failure().sentence, HasSubstr("old0 cannot be queried"));
}

TEST(CheckType, TakesConnectionsAndNothingElse) {
    for (const auto& [type, can] : {std::pair{IBV_QPT_RC, true},
                                    {IBV_QPT_UC, true},
                                    {IBV_QPT_UD, false},
                                    {IBV_QPT_RAW_PACKET, false}}) {
        ibv_qp queue_pair{};
        queue_pair.qp_type = type;
        EXPECT_EQ(static_cast<bool>(check_type(queue_pair)), can) << type;
    }
}

int two_versions(ibv_context *, std::uint32_t, std::uint32_t index, ibv_gid_entry *entry,
                 std::uint32_t, std::size_t) {
    if (index > 1) return ENODATA;
    entry->gid_type = index == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
    return 0;
}

TEST(TypeOfGid, IsWhatTheDeviceSaysAndOtherwiseUnknown) {
    ibv_context context{};
    EXPECT_EQ(gid_type(&context, 1, 0, two_versions), GidType::roce_v1);
    EXPECT_EQ(gid_type(&context, 1, 1, two_versions), GidType::roce_v2);
    EXPECT_EQ(gid_type(&context, 1, 2, two_versions), GidType::unknown);
    EXPECT_EQ(gid_type(&context, 1, 0, nullptr), GidType::unknown);
}

}  // namespace
}  // namespace lanewise::paths
