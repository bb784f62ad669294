/* SPDX-License-Identifier: BSD-3-Clause
 *
 * allreduce_often CALLS adds 64 floats over all ranks so often that a rule which loses is found
 * out, on the world and on a communicator of all its ranks in reverse order. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 64 };

static int wrong(int calls, MPI_Comm comm) {
    int rank = 0;
    int ranks = 1;
    int faults = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int call = 0; call < calls; ++call) {
        float mine[count] = {(float)rank};
        float sum[count] = {-1};
        for (int at = 1; at < count; ++at) mine[at] = (float)((call + at) % 100);
        MPI_Allreduce(mine, sum, count, MPI_FLOAT, MPI_SUM, comm);
        faults += sum[0] != (float)(ranks * (ranks - 1) / 2);
        for (int at = 1; at < count; ++at) faults += sum[at] != (float)ranks * mine[at];
    }
    return faults;
}

int main(int argc, char **argv) {
    int rank = 0;
    int faults = 0;
    int all = 0;
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    const int calls = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    faults = wrong(calls, MPI_COMM_WORLD) + wrong(calls, reversed);
    MPI_Reduce(&faults, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) puts(all == 0 ? "all right" : "wrong sums");
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return faults != 0;
}
