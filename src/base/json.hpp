// SPDX-License-Identifier: BSD-3-Clause
//
// JSON: the type of every value we read and write, and how text becomes one.
//
// The class is compiled once, in json.cpp, since each file that compiled it
// anew took seconds more, and under the sanitizers half a minute.

#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lanewise {

/* Keeps keys in the order in which they were written: files are read by people too. */
using Json = nlohmann::ordered_json;

/* The value that `text` tells. Discarded (is_discarded) where it is not JSON, or nested deeper than
   any file of ours: the library goes one call deeper for each level. */
Json parse_json(std::string_view text);

}  // namespace lanewise
