// SPDX-License-Identifier: BSD-3-Clause
//
// What happened in this process, told when it ends: a sentence on standard error where something
// did, and a line of JSON (schema/protect.schema.json) where a file is named.

#pragma once

#include <string>
#include <vector>

#include "paths/protection.hpp"

namespace lanewise::paths::preload {

struct Tale {
    Counters counters;
    std::size_t protected_count = 0;    // queue pairs that had an alternate
    std::size_t unprotected_count = 0;  // RC and UC without one
    std::size_t pathless_count = 0;     // of types that have no paths
    std::vector<Notice> notices;        // migrations and changes of ports, the first thousand
};

std::string sentence_of(const Tale& tale);
std::string line_of(const Tale& tale);
// One write, so that the lines of processes that end together stay whole.
void append(const std::string& file, const std::string& line);

// A line on standard error.
void complain(const std::string& sentence);

}  // namespace lanewise::paths::preload
