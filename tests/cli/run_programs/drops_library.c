/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that have no preloaded library, as where its file is missing on their host. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank = 0;
    if (getenv("LD_PRELOAD")) {
        unsetenv("LD_PRELOAD");
        execv("/proc/self/exe", argv);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("all right\n");
    MPI_Finalize();
    return 0;
}
