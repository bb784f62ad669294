// SPDX-License-Identifier: BSD-3-Clause
//
// Execute: a collective call by an algorithm's schedule, in one go or started and tested later.
//
// The schedule is built once for a communicator, root and shape, compiled to a list of MPI calls,
// and kept with the communicator; messages travel on a private duplicate of it. Only PMPI_
// functions are called, so an interposer can use this and profiling tools do not see it.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/call.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/* A call that this thread's cache does not have prepared. */
int execute_unprepared(const Call& call, const Choice& choice, bool& served);

/*
 * Executes the call and returns an MPI error code. `served` is false, on every rank alike, where
 * the algorithm's restrictions or the limit on scratch memory exclude this call; then nothing was
 * sent, and the caller uses the MPI's own algorithm.
 */
inline int execute(const Call& call, const Choice& choice, bool& served) {
    const CachedCall *known = cached_call(call, choice);
    if (!known || !known->prepared) {
        return execute_unprepared(copy_of(call), copy_of(choice), served);
    }
    served = true;
    return run_prepared(*known->prepared, call.send, call.receive);
}

/* The same for a call whose algorithm is `decided` on; prepares it if it is in the cache. */
int execute(const Call& call, CachedCall& decided, bool& served);

/* The same without waiting: start, then test until done. */
class Pending;
struct PendingDeleter {
    void operator()(Pending *pending) const;
};
using PendingCall = std::unique_ptr<Pending, PendingDeleter>;
int start(const Call& call, const Choice& choice, bool& served, PendingCall& pending);
/* On a communicator whose state is known: the table of cached calls stays as it is, so `choice` may
   lie in it. */
int start(const Call& call, const Choice& choice, CommunicatorState& state, bool& served,
          PendingCall& pending);
int test(Pending& pending, bool& done, CalledFrom from = CalledFrom::application);
int wait(Pending& pending);

/*
 * A call that is prepared once and started again and again, in an order among others that may be
 * another one on each rank. The program may free its communicator, datatypes and operator
 * meanwhile, where that is noticed (held_handles.hpp), and the handle of the communicator is no
 * longer looked at.
 */
class PersistentCall;
using SharedPersistentCall = std::shared_ptr<const PersistentCall>;
/* An MPI error code. `prepared` stays null, on every rank alike, where the call is not served.
   Collective over the communicator. */
int prepare_persistent(const Call& call, const Choice& choice, CommunicatorState& state,
                       SharedPersistentCall& prepared);
PendingCall start(const SharedPersistentCall& call);

/* Why algorithms between sites do not serve on `comm`, as a sentence; empty if they do. For after
   a call that was not served. */
std::string why_no_sites(MPI_Comm comm);

}  // namespace lanewise::collectives
