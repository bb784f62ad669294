// SPDX-License-Identifier: BSD-3-Clause
//
// A program whose ranks come late on purpose, on two ranks or four: in each of five functions one
// rank, before one collective. Then pairs of ranks wait in communicators of their own. With a
// number as argument that many barriers follow, in which nobody is late on purpose.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Bcast_init MPIX_Bcast_init
#endif
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { rounds = 8 };

static int rank, size;

/* Comes after all others, which say when they go on: on a busy machine they may be late, too. */
static void late(int who) {
    const struct timespec delay = {0, 20 * 1000 * 1000};
    int other, late_rank = who % size;
    if (rank != late_rank) {
        MPI_Send(NULL, 0, MPI_INT, late_rank, 0, MPI_COMM_WORLD);
        return;
    }
    for (other = 1; other < size; ++other) {
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    nanosleep(&delay, NULL);
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

/* Each rank gets a number from the one before it. */
static void before_exchange(MPI_Comm line) {
    int received[1] = {-1};
    late(0);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, received, 1, MPI_INT, line);
}

static MPI_Comm make_line(void) {
    const int before = rank - 1, after = rank + 1;
    MPI_Comm line;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank > 0, &before, MPI_UNWEIGHTED,
                                   rank < size - 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &line);
    return line;
}

static void in_pairs(MPI_Comm pair) {
    late(3);
    MPI_Barrier(pair);
}

static void compute(int milliseconds) {
    const struct timespec time = {0, milliseconds * 1000L * 1000};
    nanosleep(&time, NULL);
}

static void wait_for_allreduce(void) {
    double mine = 1.0, sum = 0.0;
    MPI_Request request;
    late(2);
    MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The delay of rank 1 passes while the others compute. */
static void overlap_barrier(void) {
    MPI_Request request;
    late(1);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    compute(60);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static void test_bcast(void) {
    int value = 7, done = 0;
    MPI_Request request;
    late(0);
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* The later of two is asked for first, beside a request that is no collective. */
static void wait_for_any(void) {
    int all[2][64], index = 0, empty = 0;
    MPI_Request requests[3];
    late(3);
    MPI_Igather(&rank, 1, MPI_INT, all[0], 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Igather(&rank, 1, MPI_INT, all[1], 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&empty, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[2]);
    for (int i = 0; i < 2; ++i) MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
}

static void start_bcast(MPI_Request *request) {
    late(0);
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void unblocked(void) {
    int value = 7, other = 8;
    MPI_Request first, second;
    MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &first);
    MPI_Bcast_init(&other, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &second);
    for (int round = 0; round < rounds; ++round) {
        wait_for_allreduce();
        overlap_barrier();
        MPI_Barrier(MPI_COMM_WORLD);
        test_bcast();
        MPI_Barrier(MPI_COMM_WORLD);
        wait_for_any();
        MPI_Barrier(MPI_COMM_WORLD);
        start_bcast(&first);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Start(&second);
    MPI_Wait(&second, MPI_STATUS_IGNORE);
    MPI_Request_free(&second);
    MPI_Request_free(&first);
}

static void blocked(void) {
    MPI_Comm pair, line = make_line();
    for (int round = 0; round < rounds; ++round) {
        before_barrier();
        before_allreduce();
        before_bcast();
        MPI_Barrier(MPI_COMM_WORLD);
        before_gather();
        MPI_Barrier(MPI_COMM_WORLD);
        before_exchange(line);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&line);
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
        in_pairs(pair);
        MPI_Comm_free(&pair);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "unblocked") == 0) {
        unblocked();
    } else {
        blocked();
        for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; --i) MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
