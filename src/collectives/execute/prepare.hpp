// SPDX-License-Identifier: BSD-3-Clause
//
// Prepare: from an arranged call to the program that executes it, or the decision that the call is
// not served, which depends only on what every rank knows.

#pragma once

#include <cstddef>
#include <vector>

#include "collectives/execute/arrangement.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "collectives/execute/execute.hpp"

namespace lanewise::collectives {

/* The call without the arguments that are not significant on this rank and may be anything. */
Call significant(Call call, const CommunicatorState& state);

/* Whether the algorithm's restrictions allow this call. */
bool admits(const Algorithm& algorithm, const Call& call, const CommunicatorState& state);

/* The program of this call, built now or kept from before; null if it would need too much memory.
 */
const KeptProgram& program_for(const Choice& choice, const Call& call, CommunicatorState& state,
                               const Arrangement& arrangement);

/* Whether the root of a v-collective must first share the counts that only it knows. */
bool shares_counts(const Algorithm& algorithm);

std::size_t scratch_bytes(const Program& program, const Arrangement& arrangement);

}  // namespace lanewise::collectives
