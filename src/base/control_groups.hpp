// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups: what those of this process, such as a container's or a batch job's, leave it of
// the host. A group is held to the limits of all above it. Files are those of version 2, or of
// version 1 (the kernel's admin-guide/cgroup-v2 and cgroup-v1/memory).

#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lanewise {

/* How much a control group lets its processes have together. */
struct GroupLimit {
    double amount = 0.0;
    std::uint64_t group = 0; /* the inode of its folder, by which containers know it, too */
};

/* How many processors each group with a quota lets its processes keep busy. The groups are read
   from /proc and /sys below `root`. */
std::vector<GroupLimit> cpu_quotas(const std::filesystem::path& root = "/");

/* The memory, in bytes, that each group with a limit still lets its processes take. Cached files
   count as used in a group, but make room when memory is asked for. */
std::vector<GroupLimit> memory_left(const std::filesystem::path& root = "/");

/* The least amount; infinite without a limit. */
double least_of(const std::vector<GroupLimit>& limits);

}  // namespace lanewise
