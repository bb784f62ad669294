// SPDX-License-Identifier: BSD-3-Clause
//
// What a lw_samples holds.

#pragma once

#include <lanewise/samples.h>

#include <vector>

#include "measure/bench.hpp"

struct lw_samples {
    std::vector<lanewise::measure::Measured> points;
};
