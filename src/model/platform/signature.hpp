// SPDX-License-Identifier: BSD-3-Clause
//
// Signature: who fitted a platform and when, and the settings of this kernel where ranks ran on it.

#pragma once

#include "model/platform/platform.hpp"

namespace lanewise::model {

void sign(Platform& platform);

}  // namespace lanewise::model
