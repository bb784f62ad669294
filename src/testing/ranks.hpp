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

/* While it lives, the MPI returns errors. */
class ReturnedErrors {
  public:
    ReturnedErrors() { set(MPI_ERRORS_RETURN); }
    ~ReturnedErrors() { set(MPI_ERRORS_ARE_FATAL); }
    ReturnedErrors(const ReturnedErrors&) = delete;
    ReturnedErrors& operator=(const ReturnedErrors&) = delete;

  private:
    static void set(MPI_Errhandler handler) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    }
};

}  // namespace lanewise::testing
