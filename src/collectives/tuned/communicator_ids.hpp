// SPDX-License-Identifier: BSD-3-Clause
//
// CommunicatorIds: one number for a communicator that all its ranks know it by, and no other has.
// Ranks need not use communicators in the same order, so it is given where the communicator is
// made: from that of the communicator that it is made of, how many were made of that before, and
// its ranks. One that was made by no function known here is told from others of the same ranks by
// the order of their first use.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

#include "collectives/execute/communicator_state.hpp"

namespace lanewise::tuned {

/* How a communicator is made. */
struct Origin {
    MPI_Comm parent = MPI_COMM_NULL; /* all of whose ranks make it; null: only its own ranks do */
    std::uint64_t tag = 0;           /* what these make it by */
};

/* By all ranks of `parent`. The ranks of an intercommunicator are on two sides, and have no number
   for it. */
Origin made_of(MPI_Comm parent);
inline Origin made_of(const void *fortran_handle) {
    return made_of(PMPI_Comm_f2c(*static_cast<const MPI_Fint *>(fortran_handle)));
}

/* By a group of ranks, which tell what they make at a time by a tag. */
inline Origin made_by_group(int tag) {
    return {MPI_COMM_NULL, static_cast<std::uint64_t>(tag)};
}
inline Origin made_by_group(const void *fortran_tag) {
    return made_by_group(*static_cast<const MPI_Fint *>(fortran_tag));
}
Origin made_by_group(std::string_view tag);

/* A communicator has been made, or this rank takes part in making one that it does not belong to,
   and gets none. Does nothing where no calls are logged. */
void give_id(MPI_Comm made, const Origin& origin);

/* The same of one that will be there later, with the ranks of its parent. Its handle is set. */
void give_id_later(MPI_Comm made, MPI_Comm parent);

/* The number of a communicator between whose ranks calls are logged. */
std::uint64_t id_of(collectives::CommunicatorState& state, MPI_Comm comm);

}  // namespace lanewise::tuned
