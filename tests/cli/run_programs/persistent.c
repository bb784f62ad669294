/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives, each started in three rounds with other data, and blocking ones between
 * them. Rank 0 prints "all right", or every rank says what is not. Those that are not here, such as
 * scatter and allgather, fail in MPICH 4.0 without anything preloaded.
 */
#include <mpi.h>
#include <stdio.h>

#include "persistent_names.h"

enum { rounds = 3 };
enum { barrier, bcast, reduce, allreduce, scan, kinds };

static int rank, ranks, root, wrong;

/* What each collective has of its own. */
static int in[kinds], out[kinds];

static void expect(int value, int wanted, const char *what, int round) {
    if (value == wanted) return;
    if (wrong++ == 0) {
        fprintf(stderr, "rank %d: %s in round %d: %d, not %d\n", rank, what, round, value, wanted);
    }
}

static void prepare(MPI_Request requests[kinds]) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Info info = MPI_INFO_NULL;
    MPI_Barrier_init(comm, info, &requests[barrier]);
    MPI_Bcast_init(&out[bcast], 1, MPI_INT, root, comm, info, &requests[bcast]);
    MPI_Reduce_init(&in[reduce], &out[reduce], 1, MPI_INT, MPI_SUM, root, comm, info,
                    &requests[reduce]);
    MPI_Allreduce_init(&in[allreduce], &out[allreduce], 1, MPI_INT, MPI_SUM, comm, info,
                       &requests[allreduce]);
    MPI_Scan_init(&in[scan], &out[scan], 1, MPI_INT, MPI_SUM, comm, info, &requests[scan]);
}

static void give(int round) {
    int kind;
    for (kind = 0; kind < kinds; ++kind) {
        in[kind] = 10 * round + rank;
        out[kind] = rank == root && kind == bcast ? 7 + round : -1;
    }
}

static void check(int round) {
    const int sum = 10 * round * ranks + ranks * (ranks - 1) / 2;
    expect(out[bcast], 7 + round, "bcast", round);
    if (rank == root) expect(out[reduce], sum, "reduce", round);
    expect(out[allreduce], sum, "allreduce", round);
    expect(out[scan], 10 * round * (rank + 1) + rank * (rank + 1) / 2, "scan", round);
}

/* These follow rules. */
static void call_blocking(int round) {
    int value = rank == root ? round : -1, sum = 0;
    MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    expect(value, round, "blocking bcast", round);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, ranks * (ranks - 1) / 2, "blocking allreduce", round);
}

int main(int argc, char **argv) {
    MPI_Request requests[kinds];
    int round, kind, wrong_in_all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    root = ranks - 1;
    prepare(requests);
    for (round = 0; round < rounds; ++round) {
        give(round);
        for (kind = 0; kind < kinds; ++kind) {
            MPI_Start(&requests[kind]);
            MPI_Wait(&requests[kind], MPI_STATUS_IGNORE);
            call_blocking(round);
        }
        check(round);
    }
    for (kind = 0; kind < kinds; ++kind) MPI_Request_free(&requests[kind]);
    MPI_Reduce(&wrong, &wrong_in_all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !wrong_in_all) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
