// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks: the own one and the number of them, for tests that run on several.

#pragma once

#include <mpi.h>

namespace lanewise::testing {

inline int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

inline int size_of(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
}

}  // namespace lanewise::testing
