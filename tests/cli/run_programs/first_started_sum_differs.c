/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions that are found complete in another order than they were started.  The third one is a
 * sum of doubles, which is 1 on two ranks, and on more of them 0 where neighbours are added first.
 * The last two are starts of one persistent request.
 */
#include <mpi.h>
#include <stdio.h>

#include "persistent_names.h"

int main(int argc, char **argv) {
    int rank = 0, ranks = 1, one = 1, most[3] = {0}, done = 0, index = 0;
    double mine = 0.0, sum = 0.0;
    MPI_Request requests[3], adding, prepared;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) mine += 1e16;
    if (rank == 1) mine += 1.0;
    if (rank == (ranks > 2 ? 2 : 0)) mine += -1e16;

    MPI_Iallreduce(&one, &most[0], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]);
    MPI_Ireduce(&one, &most[1], 1, MPI_INT, MPI_MAX, ranks - 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &adding);
    MPI_Iallreduce(&one, &most[2], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[2]);
    while (!done) MPI_Testany(3, requests, &index, &done, MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&adding, MPI_STATUS_IGNORE);

    MPI_Allreduce_init(&one, &most[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &prepared);
    for (int i = 0; i < 2; ++i) {
        MPI_Start(&prepared);
        MPI_Wait(&prepared, MPI_STATUS_IGNORE);
        one = -one;
    }
    MPI_Request_free(&prepared);
    if (rank == 0) printf("%.17g\n", sum);
    MPI_Finalize();
    return 0;
}
