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

#include "collectives/algorithm.hpp"
#include "collectives/execute/numbers.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/*
 * One call, with the arguments of the MPI function of that name. What a rank
 * need not give (the send side of scatter off the root, and so on) is never
 * looked at. Counts are of elements of their type. Not used: left at its default.
 */
struct Call {
    Collective collective = Collective::barrier;
    const void *send = nullptr; /* may be MPI_IN_PLACE where the MPI allows it */
    MPI_Count send_count = 0;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    void *receive = nullptr; /* may be MPI_IN_PLACE at the root of scatter(v); bcast: the buffer */
    MPI_Count receive_count = 0;
    MPI_Datatype receive_type = MPI_DATATYPE_NULL;
    Numbers counts = {}; /* scatterv, gatherv at the root; allgatherv; reduce_scatter */
    Numbers displacements = {};
    MPI_Op op = MPI_OP_NULL; /* reductions; their type is receive_type, their count receive_count */
    int root = 0;
    MPI_Comm comm = MPI_COMM_NULL;
};

/* Which algorithm, and its parameters; the same on every rank. */
struct Choice {
    const Algorithm *algorithm = nullptr;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
};

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

}  // namespace lanewise::collectives
