// SPDX-License-Identifier: BSD-3-Clause
//
// Under MPICH what Fortran calls goes through the functions of C, with one
// exception among those that are intercepted: the barrier of `use mpi_f08`.

#include <mpi.h>

#include "collectives/tuned/functions.hpp"

extern "C" LANEWISE_EXPORT void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *error) {
    const int code = MPI_Barrier(PMPI_Comm_f2c(*comm));
    if (error) *error = code;
}
