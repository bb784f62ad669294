// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups: what those of this process, such as a container's or a batch job's, leave it of
// the host. A group is held to the limits of all above it. Files are those of version 2, or of
// version 1 (the kernel's admin-guide/cgroup-v2 and cgroup-v1/memory).

#pragma once

#include <filesystem>
#include <limits>

namespace lanewise {

/* How much a control group lets its processes have together, and the folder of that group, which
   tells it from others; infinite, without a folder, where no group limits it. */
struct GroupLimit {
    double amount = std::numeric_limits<double>::infinity();
    std::filesystem::path group;
};

/* How many processors may be kept busy. The groups are read from /proc and /sys below `root`. */
GroupLimit cpu_quota(const std::filesystem::path& root = "/");

/* The memory, in bytes, that may still be taken. Cached files count as used in a group, but make
   room when memory is asked for. */
GroupLimit memory_left(const std::filesystem::path& root = "/");

}  // namespace lanewise
