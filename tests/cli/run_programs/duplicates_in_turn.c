/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two duplicates of the world, which the ranks first use in different orders: each starts a barrier
 * on both, one in each of two functions. Then one argument is wrong on one rank, which calls again.
 */
#include <mpi.h>

static int rank;
static MPI_Comm copies[2];
static MPI_Request requests[2];

static void start_on_first(void) {
    MPI_Ibarrier(copies[0], &requests[0]);
}

static void start_on_second(void) {
    MPI_Ibarrier(copies[1], &requests[1]);
}

static void gather_anew(void) {
    int all[64], value = rank;
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, copies[0]);
}

static void gather(void) {
    int all[64], value = rank;
    MPI_Allgather(&value, rank == 1 ? -1 : 1, MPI_INT, all, 1, MPI_INT, copies[0]);
    if (rank == 1) gather_anew();
}

static void broadcast(void) {
    int value = rank;
    MPI_Bcast(&value, 1, MPI_INT, 0, copies[0]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    if (rank % 2 == 0) {
        start_on_first();
        start_on_second();
    } else {
        start_on_second();
        start_on_first();
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_set_errhandler(copies[0], MPI_ERRORS_RETURN);
    gather();
    broadcast();
    for (int i = 0; i < 2; ++i) MPI_Comm_free(&copies[i]);
    MPI_Finalize();
    return 0;
}
