// SPDX-License-Identifier: BSD-3-Clause
//
// Request: a call in flight as a request of the MPI, which the program waits
// for and tests like any other, alone or among others. It is a generalized
// request; what is behind it goes on as progress.hpp says.

#pragma once

#include "collectives/execute/execute.hpp"

namespace lanewise::collectives {

/* Whether calls by this algorithm can go on here as the MPI demands; the same on every rank. */
bool can_be_requested(const Algorithm& algorithm);

/*
 * Starts the call. `served` is as in `execute`; besides, calls with an operator
 * of the program's are served only where it is noticed that the program frees it
 * (held_handles.hpp). Counts and displacements are read until the end.
 */
int start_request(const Call& call, const Choice& choice, bool& served, MPI_Request *request);

/* Goes on with all calls in flight; for where the MPI itself does not ask. */
void poll_requests();

}  // namespace lanewise::collectives
