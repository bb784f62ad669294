// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of which a check on different numbers of ranks can compare some: sums of long doubles,
// whose padding is never the same, one that only the last rank gets, one of which each rank gets a
// part, and one between two groups.

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long double mine[3], sums[3];
    memset(mine, (int)(now.tv_nsec / 100), sizeof mine);
    memset(sums, (int)(now.tv_nsec / 100), sizeof sums);
    for (int i = 0; i < 3; ++i) *(volatile long double *)&mine[i] = 1 + i;
    MPI_Allreduce(mine, sums, 3, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    double one = rank + 1, all = 0;
    MPI_Reduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
    double *parts = calloc((size_t)ranks, sizeof *parts);
    MPI_Reduce_scatter_block(parts, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(parts);

    const int group = rank > 0;
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, group, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, group ? 0 : 1, 0, &between);
    MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, between);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
