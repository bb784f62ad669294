// SPDX-License-Identifier: BSD-3-Clause
//
// Topology: the neighbors that the topology of a communicator gives a rank, in the order of the
// blocks of a neighborhood collective (MPI 4.1, section 8.6).

#pragma once

#include <mpi.h>

#include <optional>
#include <vector>

namespace lanewise::collectives {

/* The neighbors of this rank, by block; MPI_PROC_NULL is nobody. */
struct Neighbors {
    std::vector<int> sources;
    std::vector<int> destinations;
    /* Some rank is a neighbor of another more than once; once the ranks have told each other. */
    bool repeat_anywhere = false;
};

/* Local. None: the communicator has no topology, or the MPI refuses to say. */
std::optional<Neighbors> neighbors_in(MPI_Comm comm);

/* Collective over `comm`: sets `repeat_anywhere`. An MPI error code. */
int tell_of_repeats(Neighbors& neighbors, MPI_Comm comm);

}  // namespace lanewise::collectives
