// SPDX-License-Identifier: BSD-3-Clause
//
// Duplicates: communicators that MPI_Comm_idup makes, where reductions shall have the same bits.
//
// Their ranks cannot ask each other anything while they are made, and a nonblocking reduction may
// be the first call on them. But they are the ranks of the original in the same order, which have
// agreed already, and the private duplicate that messages travel on can be made in the same way:
// as an MPI_Comm_idup of that of the original. The program gets one request for both. How many
// private ones its ranks have, of which one may have `duplicates_max`, they cannot ask either.

#pragma once

#include <mpi.h>

#include <functional>

namespace lanewise::tuned {

/* Sets both handles, the second of what is under way. An error code of MPI. */
using Idup = std::function<int(MPI_Comm *, MPI_Request *)>;

/* Duplicates `comm` by `idup`. An error code of MPI. */
int duplicate_later(MPI_Comm comm, MPI_Comm *new_comm, MPI_Request *request, const Idup& idup);

}  // namespace lanewise::tuned
