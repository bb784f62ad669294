// SPDX-License-Identifier: BSD-3-Clause
//
// JSON: the type of every value that is read or written, and the parser.
//
// The class is instantiated once, in json.cpp: each file that instantiates it takes seconds to
// compile, half a minute under the sanitizers.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fwd.hpp"
#include "base/result.hpp"

extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lanewise {

/* Parses `text`, or says what is wrong with it if it is not JSON, is nested more deeply than any of
   our files (the library recurses once per level) or has an object with a key twice, of which one
   would be lost. The members that are called `without` are left out, wherever they are: what nobody
   looks at need not be built. */
Result<Json> read_json(std::string_view text, std::string_view without = {});

/* The same, discarded (is_discarded) where something is wrong. */
Json parse_json(std::string_view text, std::string_view without = {});

/* The text with null in place of the array or object of each member called `key`. Brackets are
   counted, so that what nobody looks at costs next to nothing, and is not checked either. */
std::string without_values(std::string_view text, std::string_view key);

/* The text of a value, on one line or indented. Bytes that are not UTF-8, which a path or an
   argument may hold, are replaced: JSON has no place for them. */
std::string json_text(const Json& value, int indent = -1);

/* Whether a text is UTF-8, so that JSON gives it back as it is. */
bool is_text(const std::string& text);

}  // namespace lanewise
