// SPDX-License-Identifier: BSD-3-Clause
//
// The settings of the interposer, which `lanewise rdma protect` passes in the environment:
//
//   LANEWISE_PROTECT_PATHS              a path file
//   LANEWISE_PROTECT_POLICY             stay | back | balance
//   LANEWISE_PROTECT_FAILBACK_DELAY_MS  how long a port must be up before queue pairs return
//   LANEWISE_PROTECT_RETRY_WINDOW_MS    how long to try over two devices while neither works
//   LANEWISE_PROTECT_STRICT             1: a queue pair without an alternate is an error, and so is
//                                       every queue pair where the settings cannot be used
//   LANEWISE_PROTECT_REPORT             a file that gets one line of JSON from each process
//
// LANEWISE_PROTECT_QUIET_MS, the name of the delay in 0.1, is still read.

#pragma once

#include <string>

#include "base/result.hpp"
#include "paths/protection.hpp"

namespace lanewise::paths::preload {

struct ProtectSettings {
    MigrationRules rules;
    std::optional<Directory> directory;
    Nanoseconds retry_window_ns = 10'000'000'000;
    bool strict = false;
    std::string report;
};

Result<ProtectSettings> read_settings();

/* Whether queue pairs that are not protected are refused, whatever the other settings are. */
bool is_strict();

}  // namespace lanewise::paths::preload
