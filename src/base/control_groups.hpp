// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups: what those of this process, such as a container's or a batch job's, leave it of
// the host. A group is held to the limits of all above it. Files are those of version 2, or of
// version 1 (the kernel's admin-guide/cgroup-v2 and cgroup-v1/memory).

#pragma once

#include <filesystem>

namespace lanewise {

/* How many processors the groups let this process keep busy; infinite without a quota. The groups
   are read from /proc and /sys below `root`. */
double cpu_quota(const std::filesystem::path& root = "/");

/* The memory, in bytes, that the groups still let this process take; infinite without a limit.
   Cached files count as used in a group, but make room when memory is asked for. */
double memory_left_bytes(const std::filesystem::path& root = "/");

}  // namespace lanewise
