// SPDX-License-Identifier: BSD-3-Clause
//
// Results: a hash of what each blocking reduction gave this process, in the order of the calls, so
// that the reductions of two runs can be compared one by one (`lanewise check same-bits`).
//
// Each process writes a file of its own and asks nobody: rank-0.jsonl, rank-1.jsonl, ... in the
// folder of LANEWISE_RESULTS, by its rank in MPI_COMM_WORLD.

#pragma once

#include <mpi.h>

#include "collectives/execute/call.hpp"

namespace lanewise::tuned {

/* Whether results are noted: from the end of MPI_Init to the beginning of MPI_Finalize. */
extern constinit bool noting_results;

/* After MPI is initialized; where LANEWISE_RESULTS is set. */
void begin_results();

/* A reduction that has ended well; `site` is where it returns to. */
void note_result(const collectives::Call& call, const void *site);

/* A nonblocking call, whose result nobody sees here. */
void count_unseen_result(collectives::Collective collective);

}  // namespace lanewise::tuned
