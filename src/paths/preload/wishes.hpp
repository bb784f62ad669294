// SPDX-License-Identifier: BSD-3-Clause
//
// What `lanewise protect` asks of the interposer, handed over in the environment:
//
//   LANEWISE_PROTECT_PATHS     a path file
//   LANEWISE_PROTECT_POLICY    stay | back | balance
//   LANEWISE_PROTECT_QUIET_MS  how long a port must have been up before queue pairs return
//   LANEWISE_PROTECT_STRICT    1: a queue pair without an alternate is an error
//   LANEWISE_PROTECT_REPORT    a file that gets one line of JSON from each process

#pragma once

#include <string>

#include "base/result.hpp"
#include "paths/protection.hpp"

namespace lanewise::paths::preload {

struct Wishes {
    Rules rules;
    std::optional<Directory> directory;
    bool strict = false;
    std::string report;
};

Result<Wishes> read_wishes();

}  // namespace lanewise::paths::preload
