// SPDX-License-Identifier: BSD-3-Clause
//
// What starts on a global clock share. A start is one file of this folder and
// one line in registry.cpp.

#pragma once

#include "measure/bench.hpp"

namespace lanewise::measure {

/* Waits until the global clock reads `deadline_s`; false if it had passed already. */
bool wait_until(const Bench& bench, double deadline_s);

/* How long a broadcast from rank 0 takes to reach the last rank: median, the same everywhere. */
double broadcast_latency_s(const Bench& bench);

}  // namespace lanewise::measure
