// SPDX-License-Identifier: BSD-3-Clause
//
// Prepare: from an arranged call to the program that carries it out, or the
// decision that this call is not served. Only what every rank knows decides.

#pragma once

#include <cstddef>
#include <vector>

#include "collectives/execute/arrangement.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "collectives/execute/execute.hpp"

namespace lanewise::collectives {

/* The call without what the MPI says is not significant on this rank, and may be anything. */
Call significant(Call call, const CommunicatorState& state);

/* Whether the algorithm's restrictions allow this call. */
bool admits(const Algorithm& algorithm, const Call& call, const CommunicatorState& state);

/* The program of this call, built now or kept from before; null where memory would not suffice. */
const KeptProgram& program_for(const Choice& choice, const Call& call, CommunicatorState& state,
                               const Arrangement& arrangement);

/* Whether ranks must first be told the counts that only the root of a v-collective knows. */
bool shares_counts(const Algorithm& algorithm);

std::size_t scratch_bytes(const Program& program, const Arrangement& arrangement);

}  // namespace lanewise::collectives
