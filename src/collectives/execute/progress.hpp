// SPDX-License-Identifier: BSD-3-Clause
//
// Progress: how calls in flight continue while the program does something else. A nonblocking
// collective has to end although a rank is in some other MPI call, so it must be polled from within
// that call:
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

/* When a call in flight is polled. */
enum class Progress : std::uint8_t {
    in_any_call, /* of the MPI */
    when_asked,  /* only while the program waits for or tests its request */
    never,
};
Progress progress_here();

/* Continues all calls in flight. False, after calling `stop_polling`, when none is left. */
using Poll = bool (*)();

/* Where progress is made in any call: has `poll` called in each of them from now on. */
void start_polling(Poll poll);
void stop_polling();

/* What a request of the program is made of. */
struct RequestFunctions {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    int (*poll)(void *state); /* where progress is made when asked */
};
/* An MPI error code. */
int make_request(const RequestFunctions& functions, void *state, MPI_Request *request);

/* Whether `poll`, which runs inside the MPI's progress, may enter that progress once more. */
bool may_nest();
/* Whether all of them are complete, without making progress. Only where it may not nest. */
bool are_complete(std::span<const MPI_Request> requests);

}  // namespace lanewise::collectives
