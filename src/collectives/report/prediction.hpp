// SPDX-License-Identifier: BSD-3-Clause
//
// Answer: what lanewise-predict prints, from what it was asked and a network.

#pragma once

#include <vector>

#include "base/json.hpp"
#include "collectives/report/prediction_arguments.hpp"
#include "model/simulation/network.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::report {

/* `arguments.ranks` is set. */
Result<Json> answer(const PredictArguments& arguments, const model::Platform& platform,
                    const model::Network& network);

}  // namespace lanewise::report
