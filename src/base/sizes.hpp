// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes: the grammar of message sizes on the command line.
//
//   list    = item { "," item }
//   item    = size | size ":" size ":" step | size ":" size
//   step    = size (added) | "x" number (multiplied, at least 2)
//   size    = digits [ "K" | "M" | "G" | "T" ] [ "B" | "iB" ]      powers of 1024
//
// "1:1M:x2" is 1, 2, 4, ... 1048576; "0:100K:1K" is 0, 1024, ... 102400; a range
// without a step doubles. The end of a range belongs to it when a step lands on
// it. The result is sorted; items that meet the same size twice are refused,
// since a repeated point would hide one of its two measurements.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace lanewise {

/* More sizes than this in one list are a slip. */
inline constexpr std::size_t sizes_count_max = 1'000'000;

Result<std::uint64_t> parse_size(std::string_view text);
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text);

/* "4K", "1M", "1000": the shortest form that parse_size reads back. */
std::string format_size(std::uint64_t bytes);

/* The same with its unit, as of a budget: "4KiB", "1000B". */
std::string size_text(std::uint64_t bytes);
std::uint64_t round_up_mebibyte(std::uint64_t bytes);

}  // namespace lanewise
