// SPDX-License-Identifier: BSD-3-Clause
//
// What happened to the queue pairs of this process, reported when it ends: one sentence on standard
// error, or one line of JSON (schema/protect.schema.json) if a file is named.

#pragma once

#include <string>
#include <vector>

#include "paths/protection.hpp"

namespace lanewise::paths::preload {

struct ProcessReport {
    PathCounters counters;
    std::size_t loaded_count = 0;       // queue pairs that had an alternate
    std::size_t armed_count = 0;        // those of them that were ever ready to migrate
    std::size_t doubled_count = 0;      // UD whose datagrams leave on both ports
    std::size_t unprotected_count = 0;  // RC and UC without one
    std::size_t pathless_count = 0;     // of types that have no paths
    std::vector<Notice> notices;        // migrations and changes of ports, the first thousand
};

bool is_empty(const ProcessReport& report);
std::string sentence_of(const ProcessReport& report);
std::string line_of(const ProcessReport& report);
// Appends with one write, so that lines of processes that end at the same time are not mixed.
void append(const std::string& file, const std::string& line);

// A line on standard error.
void warn(const std::string& sentence);

}  // namespace lanewise::paths::preload
