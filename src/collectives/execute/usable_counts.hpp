// SPDX-License-Identifier: BSD-3-Clause
//
// UsableCounts: whether the blocks of a call can be looked at. The MPI checks the arguments of its
// own functions; a call by the C or the Fortran interface reaches no such function before its
// schedule is built and its memory is taken.

#pragma once

#include "collectives/execute/call.hpp"

namespace lanewise::collectives {

/* Whether no count that is significant on this rank is below 0, and the arrays are there that tell
   of a block for each rank. Not for neighborhoods. */
bool has_usable_counts(const Call& call, int rank, int ranks);

}  // namespace lanewise::collectives
