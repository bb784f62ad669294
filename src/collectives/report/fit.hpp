// SPDX-License-Identifier: BSD-3-Clause
//
// What lanewise-fit prints: how far each model is off, then its parameters.

#pragma once

#include <string>

#include "model/fit/fit.hpp"

namespace lanewise::report {

std::string shown(const model::Fit& fit, const model::Observations& observations);

}  // namespace lanewise::report
