// SPDX-License-Identifier: BSD-3-Clause
//
// Reading a whole file.

#pragma once

#include <string>

#include "base/result.hpp"

namespace lanewise {

/* The content of the file; a failure (LW_ERR_IO) names the path and the system's reason. */
Result<std::string> read_file(const std::string& path);

}  // namespace lanewise
