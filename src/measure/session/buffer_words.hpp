// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers as words: what --buffers takes and what the context of a file says.
//
//   warm | cold    aligned | unaligned[=BYTES]    one | rotating[=SETS]    small | huge

#pragma once

#include <lanewise/measure.h>

#include <string>

#include "base/json_lines.hpp"
#include "base/result.hpp"

namespace lanewise::measure::session {

/* The words of a list such as cold,rotating=8; what it leaves out is plain. */
Result<lw_buffers> read_buffers(const std::string& words);

Json buffers_record(const lw_buffers& buffers);

}  // namespace lanewise::measure::session
