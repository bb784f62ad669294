// SPDX-License-Identifier: BSD-3-Clause
//
// Request: a call in flight as a request of the MPI, which the program waits
// for and tests like any other, alone or among others. It is a generalized
// request; what is behind it goes on as progress.hpp says.

#pragma once

#include <memory>

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
/* On a communicator whose state is known, as `start`. */
int start_request(const Call& call, const Choice& choice, CommunicatorState& state, bool& served,
                  MPI_Request *request);

/* Prepares a call that is started as often as the program likes, where `start_request` would serve
   it; as prepare_persistent. */
int prepare_request(const Call& call, const Choice& choice, CommunicatorState& state,
                    SharedPersistentCall& prepared);

/* Starts a call that was prepared, once its last start has ended. An MPI error code. */
int start_request(const SharedPersistentCall& call, MPI_Request *request);

/* What goes on behind a request of the program while it does something else. */
class InFlight {
  public:
    InFlight() = default;
    virtual ~InFlight() = default;
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    /* Continues, maybe inside the MPI's progress; whether it has ended, with `code`. */
    virtual bool go_on() = 0;

    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
};

/* Makes the request of what is about to begin. An MPI error code. */
int make_request(InFlight& in_flight);

/* Has what has begun go on to its end, after which its request may be freed. */
void let_go_on(std::unique_ptr<InFlight> in_flight);

/* Goes on with all calls in flight; for where the MPI itself does not ask. */
void poll_requests();

}  // namespace lanewise::collectives
