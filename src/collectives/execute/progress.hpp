// SPDX-License-Identifier: BSD-3-Clause
//
// Progress: how calls in flight go on while the program is elsewhere. The MPI
// demands that a nonblocking collective ends although a rank is in some other
// MPI call, so somebody must look at it from within that call:
//
//   Open MPI     opal_progress_register: a function called in every MPI call that waits or tests
//   MPICH >=4.3  MPIX_Async_start: the same
//   MPICH before MPIX_Grequest_start: a function called only while the program waits for or tests
//                this very request
//
// One of progress_openmpi.cpp, progress_mpich.cpp and progress_none.cpp is built.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

namespace lanewise::collectives {

/* When a call in flight is looked at. */
enum class Progress : std::uint8_t {
    in_any_call, /* of the MPI */
    when_asked,  /* only while the program waits for or tests its request */
    never,
};
Progress progress_here();

/* Looks at all calls in flight. False, and `end_looking` called, where none is left. */
using Look = bool (*)();

/* Where progress is made in any call: has `look` called in each of them from now on. */
void begin_looking(Look look);
void end_looking();

/* What a request of the program is made of. */
struct RequestFunctions {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    int (*poll)(void *state); /* where progress is made when asked */
};
/* An MPI error code. */
int make_request(const RequestFunctions& functions, void *state, MPI_Request *request);

/* Whether the MPI's progress, inside of which a look takes place, may be entered once more. */
bool may_nest();
/* Whether all of them are complete, without making progress. Only where it may not nest. */
bool are_complete(std::span<const MPI_Request> requests);

}  // namespace lanewise::collectives
