// SPDX-License-Identifier: BSD-3-Clause
//
// The ways of starting together, listed in registry.cpp. Adding one: a file
// with its factory, a line here and a line there.

#pragma once

#include "measure/bench.hpp"

namespace lanewise::measure {

Starter barrier_start(const Bench& bench);
Starter double_barrier_start(const Bench& bench);
Starter window_start(const Bench& bench);
Starter round_time_start(const Bench& bench);

/* Waits until the global clock reads `deadline_s`; false if it had passed already. */
bool wait_until(const Bench& bench, double deadline_s);

/* How long a broadcast from rank 0 takes to reach the last rank: median, the same everywhere. */
double broadcast_latency_s(const Bench& bench);

}  // namespace lanewise::measure
