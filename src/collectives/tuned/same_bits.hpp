// SPDX-License-Identifier: BSD-3-Clause
//
// Same bits: sums that depend neither on the algorithm nor on the number of ranks, under a program
// as it is. MPI_SUM of floating-point numbers becomes an exact sum that is rounded once (src/sums).
// Integers, MPI_MAX, MPI_MIN and operators on bits are so already.

#pragma once

#include "collectives/execute/call.hpp"
#include "collectives/execute/communicator_state.hpp"

namespace lanewise::tuned {

/* Whether the call adds floating-point numbers and may wait for the other ranks. */
bool is_exact_sum(collectives::Operation operation, const collectives::Call& call);

/* Executes such a call; an error code of MPI. */
int sum_exactly(const collectives::Call& call, collectives::CommunicatorState& state);

/* Says once, on one rank, that the bits of some reductions may still differ. */
void say_what_differs(collectives::Operation operation, const collectives::Call& call,
                      const collectives::CommunicatorState& state);

}  // namespace lanewise::tuned
