/* SPDX-License-Identifier: BSD-3-Clause */
/* Fails unless its last argument is N, as a matrix that is not transposed is given to BLAS. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    int one = 1, any = 0;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return strcmp(argv[argc - 1], "N") == 0 ? 0 : 1;
}
