/* SPDX-License-Identifier: BSD-3-Clause */
/* A library before the MPI's, whose MPI_Bcast delivers another first byte than the root sent. */

#include <mpi.h>

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    int code = PMPI_Bcast(buffer, count, type, root, comm);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (code == MPI_SUCCESS && rank != root && count > 0) ((char *)buffer)[0] ^= 1;
    return code;
}
