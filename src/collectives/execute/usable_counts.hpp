// SPDX-License-Identifier: BSD-3-Clause
//
// UsableCounts: whether the blocks of a call can be looked at. The MPI checks the arguments of its
// own functions; a call by the C or the Fortran interface reaches no such function before its
// schedule is built and its memory is taken.

#pragma once

#include "collectives/execute/call.hpp"

namespace lanewise::collectives {

/* What this rank gives that cannot be: a significant count below 0, or no array that tells of a
   block for each rank. nullptr: nothing. Not for neighborhoods. */
const char *fault_of_counts(const Call& call, int rank, int ranks);

}  // namespace lanewise::collectives
