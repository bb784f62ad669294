// SPDX-License-Identifier: BSD-3-Clause
//
// RollCall: whether every rank of the job has this library. A rank without it takes no part in what
// the others agree on, and would take a message of theirs for its own, so this is known before the
// first agreement, and no question goes through the MPI. A process tells `lanewise run` that it is
// there before MPI is initialized, and asks once it is: then all have been there. The answer is the
// same for all who ask.
//
//   LANEWISE_ROLL_CALL=TOKEN@ADDRESS:PORT/...  where `lanewise run` listens
//   LANEWISE_EVERY_RANK=1                      whoever starts the program knows that all have it

#pragma once

#include <mpi.h>

namespace lanewise::tuned {

/* Before MPI or a session is initialized. */
void report_presence();

/* After that; once. `world` are the ranks that started together. */
void answer_for_all(MPI_Group world);
void answer_for_world();

/* Whether all ranks that started together have this library. */
bool is_everybody_here();

/* Whether ranks of another job spawned these, which have a world of their own and the environment
   of the others. There must be a world. */
bool is_spawned();

/* Whether all ranks of `comm` started together. Others are of a job that was spawned or connected,
   about which nobody knows. Local. */
bool started_together(MPI_Comm comm);

/* The rank among all that started together; MPI_UNDEFINED before MPI is initialized. Local. */
int rank_among_all();

}  // namespace lanewise::tuned
