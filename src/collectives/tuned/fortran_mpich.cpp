// SPDX-License-Identifier: BSD-3-Clause
//
// Under MPICH what Fortran calls goes through the functions of C, with two
// exceptions among those that are intercepted: the barriers of `use mpi_f08`.

#include <mpi.h>

#include "collectives/tuned/functions.hpp"

extern "C" LANEWISE_EXPORT void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *error) {
    const int code = MPI_Barrier(PMPI_Comm_f2c(*comm));
    if (error) *error = code;
}

extern "C" LANEWISE_EXPORT void mpi_ibarrier_f08_(const MPI_Fint *comm, MPI_Fint *request,
                                                  MPI_Fint *error) {
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = MPI_Ibarrier(PMPI_Comm_f2c(*comm), &made);
    *request = PMPI_Request_c2f(made);
    if (error) *error = code;
}
