/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs whose ranks call little. "nonblocking": three nonblocking reductions, and nothing that
 * blocks. "others": rank 0 calls no collective, and the others broadcast among themselves. "pair":
 * all meet once, and then the last two ranks broadcast among themselves.
 */
#include <mpi.h>
#include <string.h>

static int rank, size;

static void reduce_later(void) {
    int mine = 1, sum = 0;
    for (int i = 0; i < 3; ++i) {
        MPI_Request request;
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void broadcast_from(int first) {
    MPI_Comm some;
    int value = rank;
    MPI_Comm_split(MPI_COMM_WORLD, rank < first ? MPI_UNDEFINED : 0, rank, &some);
    if (some == MPI_COMM_NULL) return;
    MPI_Bcast(&value, 1, MPI_INT, 0, some);
    MPI_Comm_free(&some);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "nonblocking";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "nonblocking") == 0) reduce_later();
    if (strcmp(what, "others") == 0) broadcast_from(1);
    if (strcmp(what, "pair") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        broadcast_from(size - 2);
    }
    MPI_Finalize();
    return 0;
}
