// SPDX-License-Identifier: BSD-3-Clause
//
// Call: one collective call, and by which algorithm it is carried out.

#pragma once

#include <mpi.h>

#include <cstdint>

#include "collectives/algorithm.hpp"
#include "collectives/execute/numbers.hpp"

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

    bool operator==(const Choice&) const = default;
};

/*
 * The same, field by field. Where only this copy is passed on, the compiler knows that the
 * original need not lie in memory, and keeps the arguments of a call in registers.
 */
inline Call written_down(const Call& call) {
    const auto& [collective, send, send_count, send_type, receive, receive_count, receive_type,
                 counts, displacements, op, root, comm] = call;
    return {collective,   send,   send_count,    send_type, receive, receive_count,
            receive_type, counts, displacements, op,        root,    comm};
}

inline Choice written_down(const Choice& choice) {
    const auto& [algorithm, segment_bytes, lanes] = choice;
    return {algorithm, segment_bytes, lanes};
}

}  // namespace lanewise::collectives
