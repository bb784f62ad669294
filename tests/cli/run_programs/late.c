// SPDX-License-Identifier: BSD-3-Clause
//
// A program whose ranks come late on purpose, on two ranks or four: in each of four functions one
// rank, before one collective. Then pairs of ranks wait in communicators of their own. With a
// number as argument that many barriers follow, in which nobody is late on purpose.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { rounds = 8 };

static int rank, size;

static void late(int who) {
    const struct timespec delay = {0, 20 * 1000 * 1000};
    if (rank == who % size) nanosleep(&delay, NULL);
}

static void before_barrier(void) {
    late(1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void before_allreduce(void) {
    double mine = 1.0, sum = 0.0;
    late(2);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void before_bcast(void) {
    int value = 7;
    late(0);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void before_gather(void) {
    int all[64];
    late(3);
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void in_pairs(MPI_Comm pair) {
    late(3);
    MPI_Barrier(pair);
}

int main(int argc, char **argv) {
    MPI_Comm pair;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; ++round) {
        before_barrier();
        before_allreduce();
        before_bcast();
        MPI_Barrier(MPI_COMM_WORLD);
        before_gather();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
        in_pairs(pair);
        MPI_Comm_free(&pair);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; --i) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
