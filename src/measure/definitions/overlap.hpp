// SPDX-License-Identifier: BSD-3-Clause
//
// Overlap: the loop that measures a nonblocking operation alone, and then with
// work between its start and its wait, as much as it took alone on the same rank.
//
// A run gives three times: alone, work, and both together (IMB's t_pure, t_CPU and
// t_ovrl), of the rank that takes longest with the work or as means of the ranks. Kept
// are the first two and what the operation adds to the work, which is the time that
// the benchmark of the same name reports.

#pragma once

#include "measure/definitions/definition.hpp"

namespace lanewise::measure {

/* A nonblocking operation without work. */
int start_and_wait(Exchange& exchange);

/* As run_loop, of an operation that can be started. Collective. */
LoopTimes run_overlap(const Harness& harness, Running& running, const Loop& loop, Calls calls,
                      std::size_t count);

}  // namespace lanewise::measure
