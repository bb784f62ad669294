// SPDX-License-Identifier: BSD-3-Clause
//
// The type of every JSON value that is read or written, for headers that only pass one along:
// nlohmann/json.hpp takes the compiler two seconds, this header takes none.

#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lanewise {

/* Keeps keys in the order in which they were written, because people read these files too. */
using Json = nlohmann::ordered_json;

}  // namespace lanewise
