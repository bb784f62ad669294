// SPDX-License-Identifier: BSD-3-Clause
//
// The timing methods, listed in registry.cpp. All share one signature: run
// `count` repetitions, reduce once, return the same batch on every rank.

#pragma once

#include "measure/bench.hpp"

namespace lanewise::measure {

Batch run_max(Bench& bench, Running& running, std::size_t count);
Batch run_root(Bench& bench, Running& running, std::size_t count);
Batch run_global(Bench& bench, Running& running, std::size_t count);
Batch run_tasks(Bench& bench, Running& running, std::size_t count);

}  // namespace lanewise::measure
