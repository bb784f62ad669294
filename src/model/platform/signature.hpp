// SPDX-License-Identifier: BSD-3-Clause
//
// Signature: who fitted a platform and when, and the settings of a kernel where ranks ran on it.

#pragma once

#include <map>
#include <string>

#include "model/platform/platform.hpp"

namespace lanewise::model {

// `created` is the time of day.  The settings are those of the kernel of `host`.
void sign(Platform& platform, std::string created, const std::string& host,
          std::map<std::string, std::string> settings);

}  // namespace lanewise::model
