// SPDX-License-Identifier: BSD-3-Clause
//
// Initialize: what begins with a session, in C and in Fortran. What begins with MPI_COMM_WORLD is
// in profile.hpp.

#pragma once

#include <mpi.h>

namespace lanewise::tuned {

#ifdef LANEWISE_HAS_SESSIONS
/* Once it is initialized: the roll call is answered, and a report begins. */
void begin_with_session(MPI_Session session);
#endif

}  // namespace lanewise::tuned
