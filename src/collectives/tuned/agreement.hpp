// SPDX-License-Identifier: BSD-3-Clause
//
// Agreement: whether the rules apply to a communicator. All its ranks must have read the same
// rules, and their number and placement must be what the rules were measured for. The ranks
// compare that inside the first collective call that is intercepted and blocks or prepares a
// persistent collective, where all of them are anyway. A nonblocking call before that must not wait
// for anybody, so it is forwarded; where reductions shall have the same bits, they compare as soon
// as there is a communicator.

#pragma once

#include "collectives/execute/communicator_state.hpp"

namespace lanewise::tuned {

/* Has the report written before MPI ends, where one is asked for. Local; once there is a world, and
   again at the first call, because a tool may initialize MPI in a way that is not seen. */
void begin_report();

/* Collective over `comm`: fills in `state.interception`. */
void compare_rules(collectives::CommunicatorState& state, MPI_Comm comm);

/* The same of a communicator that has just been made, or null; where same bits are asked for. */
void compare_early(MPI_Comm comm);

/* What the ranks of `original` agreed on holds for the same ranks of a duplicate of it. */
void agree_like(const collectives::CommunicatorState& original,
                collectives::CommunicatorState& state);

/* Says once that communicators are left out because there are so many. */
void say_too_many();

/* Whether MPI is initialized and not finalized yet, in the way that has MPI_COMM_WORLD. */
bool has_world();

/* Whether all ranks of MPI_COMM_WORLD were found to follow the same rules and settings. */
bool world_agrees();

}  // namespace lanewise::tuned
