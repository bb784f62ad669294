/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As many communicators as the argument says, all of them there at the same time, and broadcasts
 * and sums on each of them. Rank 0 prints "all right", or every rank says what is not.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks, wrong;

static void use(MPI_Comm comm, int number) {
    double value = rank == 0 ? number : -1;
    double sum = 0;
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, comm);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (sum == ranks * number) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: communicator %d: %g\n", rank, number, sum);
}

int main(int argc, char **argv) {
    int worst = 0;
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm *comms = malloc(sizeof(MPI_Comm) * (size_t)count);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < count; ++i) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[i]);
        use(comms[i], i);
    }
    for (int i = 0; i < count; ++i) use(comms[i], i + 1);
    for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[i]);
    /* What was freed makes room for others. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    use(comms[0], 7);
    MPI_Comm_free(&comms[0]);
    free(comms);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
