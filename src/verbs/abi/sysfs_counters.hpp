// SPDX-License-Identifier: BSD-3-Clause
//
// What a port has counted, by the names that the kernel gives to it in the folders `counters` and
// `hw_counters` of a port: those of the InfiniBand standard, and those that ConnectX cards have.
// What this device does not count is not there.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "verbs/proto/connection/counters.hpp"

namespace lanewise::verbs::abi {

struct SysfsCounter {
    std::string_view folder;
    const char *name;
    std::uint64_t (*value)(const PortCounters&, const QueuePairCounters&);
};

std::span<const SysfsCounter> sysfs_counters();

}  // namespace lanewise::verbs::abi
