// SPDX-License-Identifier: BSD-3-Clause
//
// Execute: a collective call carried out by an algorithm's schedule.
//
// The schedule is built once for a communicator, root and shape, compiled to a
// list of MPI calls, and kept with the communicator; messages travel on a
// private duplicate of it. Only PMPI_ functions are called, so an interposer
// may stand on top of this and profiling tools below it.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/call.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/*
 * Carries the call out and returns an MPI error code. `served` is false, on
 * every rank alike, where the algorithm's restrictions or the cap on scratch
 * memory exclude this call; then nothing was sent and the caller goes to the
 * MPI's own.
 */
int execute(const Call& call, const Choice& choice, bool& served);

/* The same without waiting: start, then test until done. */
class Pending;
struct PendingDeleter {
    void operator()(Pending *pending) const;
};
using PendingCall = std::unique_ptr<Pending, PendingDeleter>;
int start(const Call& call, const Choice& choice, bool& served, PendingCall& pending);
int test(Pending& pending, bool& done, From from = From::program);
int wait(Pending& pending);

/* Makes now what a first call on `comm` would make, which is collective. False: it cannot be. */
bool get_ready(MPI_Comm comm);

/* Why algorithms between sites do not serve on `comm`, in a sentence; empty if they do. After a
   call was not served. */
std::string why_no_sites(MPI_Comm comm);

/* Largest scratch and packing memory a call may take on one rank; more is not served. */
void set_scratch_limit(std::int64_t bytes);

/* What a platform-aware algorithm sees; read once, the same on every rank. May be null. */
void set_network(std::shared_ptr<const model::Network> network);

/* One that is not the latest of this thread. */
int execute_other(const Call& call, const Choice& choice, bool& served);

inline int execute(const Call& call, const Choice& choice, bool& served) {
    Rehearsed *known = latest_if(call, choice);
    if (!known) return execute_other(written_down(call), written_down(choice), served);
    served = true;
    return run_rehearsed(*known, call.send, call.receive);
}

}  // namespace lanewise::collectives
