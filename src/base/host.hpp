// SPDX-License-Identifier: BSD-3-Clause
//
// Host: what a result must say about the machine that it was measured on.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lanewise {

struct Host {
    std::string name;
    std::string cpus;      /* the processors this rank may run on, as "0-3,8" */
    int cores = 0;         /* processors online */
    std::string processor; /* as the kernel names its model, or "unknown" */
    std::string kernel;
    std::string governor;    /* of processor 0, or "unknown" */
    std::string clocksource; /* of the kernel, or "unknown" */
};

Host this_host();

/* The processors this rank may use, in order; none if the kernel does not say. */
std::vector<int> allowed_cpus();

/* The kernel's TCP settings on which message times depend, by name, such as net.ipv4.tcp_rmem. */
std::map<std::string, std::string> tcp_settings();

/* The time of day, as 2026-11-23T12:00:00Z. */
std::string utc_now();

/* Memory that is available without swapping, in bytes; infinite if the kernel does not say. */
double available_memory_bytes();

/* The PID namespace of this process, by the number that lsns shows; 0 if the kernel says none. */
std::uint64_t pid_namespace();

}  // namespace lanewise
