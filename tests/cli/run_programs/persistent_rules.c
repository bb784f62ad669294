/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every persistent collective, prepared once and started in several rounds with other data, alone
 * and all together. What must come is what the MPI's own blocking function gives, called as PMPI_.
 * Rank 0 prints "all right", or every rank says what is not.
 *
 * With "early", communicator, datatype and operator are freed before the first start, which Open
 * MPI 4 does not bear in persistent collectives of its own. After a further word, barrier and bcast
 * are never started.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent_names.h"

enum { rounds = 4, ranks_max = 16, element_bytes_max = 4 * sizeof(int), count_max = 2003 };

enum {
    barrier,
    bcast,
    scatter,
    scatterv,
    gather,
    gatherv,
    allgather,
    allgather_in_place,
    allgatherv,
    alltoall,
    reduce,
    allreduce,
    allreduce_in_place,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    kinds
};
static const char *const names[] = {"barrier",
                                    "bcast",
                                    "scatter",
                                    "scatterv",
                                    "gather",
                                    "gatherv",
                                    "allgather",
                                    "allgather in place",
                                    "allgatherv",
                                    "alltoall",
                                    "reduce",
                                    "allreduce",
                                    "allreduce in place",
                                    "reduce_scatter",
                                    "reduce_scatter_block",
                                    "scan",
                                    "exscan"};

static int rank, ranks, root, wrong, first, frees_early;
static int counts[ranks_max], displacements[ranks_max], equal_counts[ranks_max];

/* What a kind has of its own: as many elements for each rank. */
struct buffers {
    int *in, *out, *wanted;
};
static struct buffers of[kinds];

/* How all are called. */
struct how {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
};
static size_t buffer_bytes;

static int *room(void) {
    int *memory = calloc(1, buffer_bytes);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* x -> ax + b, so that the order in which they are combined shows; of two pairs of ints. */
static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
    const unsigned *f = left;
    unsigned *g = right;
    (void)type;
    for (int i = 0; i < *count; ++i, f += 4, g += 4) {
        g[2] = f[2] + f[0] * g[2];
        g[0] = f[0] * g[0];
    }
}

/* Integers that are added, or elements with gaps that are combined by an operator of the program.
 */
static struct how how_to_call(int with_gaps) {
    struct how made = {MPI_COMM_NULL, MPI_INT, MPI_SUM};
    MPI_Comm_dup(MPI_COMM_WORLD, &made.comm);
    if (with_gaps) {
        MPI_Datatype apart;
        MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
        MPI_Type_create_resized(apart, 0, 4 * sizeof(int), &made.type);
        MPI_Type_commit(&made.type);
        MPI_Type_free(&apart);
        MPI_Op_create(compose, 0, &made.op);
    }
    return made;
}

static void free_all(struct how *how) {
    MPI_Comm_free(&how->comm);
    if (how->op == MPI_SUM) return;
    MPI_Type_free(&how->type);
    MPI_Op_free(&how->op);
}

static void prepare(const struct how *how, int n, MPI_Request to[kinds]) {
    const MPI_Comm comm = how->comm;
    const MPI_Datatype t = how->type;
    const MPI_Info info = MPI_INFO_NULL;
    const MPI_Op op = how->op;
    MPI_Barrier_init(comm, info, &to[barrier]);
    MPI_Bcast_init(of[bcast].out, n, t, root, comm, info, &to[bcast]);
    MPI_Scatter_init(of[scatter].in, n, t, of[scatter].out, n, t, root, comm, info, &to[scatter]);
    MPI_Scatterv_init(of[scatterv].in, counts, displacements, t, of[scatterv].out, counts[rank], t,
                      root, comm, info, &to[scatterv]);
    MPI_Gather_init(of[gather].in, n, t, of[gather].out, n, t, root, comm, info, &to[gather]);
    MPI_Gatherv_init(of[gatherv].in, counts[rank], t, of[gatherv].out, counts, displacements, t,
                     root, comm, info, &to[gatherv]);
    MPI_Allgather_init(of[allgather].in, n, t, of[allgather].out, n, t, comm, info, &to[allgather]);
    MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, of[allgather_in_place].out, n, t, comm,
                       info, &to[allgather_in_place]);
    MPI_Allgatherv_init(of[allgatherv].in, counts[rank], t, of[allgatherv].out, counts,
                        displacements, t, comm, info, &to[allgatherv]);
    MPI_Alltoall_init(of[alltoall].in, n, t, of[alltoall].out, n, t, comm, info, &to[alltoall]);
    MPI_Reduce_init(of[reduce].in, of[reduce].out, n, t, op, root, comm, info, &to[reduce]);
    MPI_Allreduce_init(of[allreduce].in, of[allreduce].out, n, t, op, comm, info, &to[allreduce]);
    MPI_Allreduce_init(MPI_IN_PLACE, of[allreduce_in_place].out, n, t, op, comm, info,
                       &to[allreduce_in_place]);
    MPI_Reduce_scatter_init(of[reduce_scatter].in, of[reduce_scatter].out, equal_counts, t, op,
                            comm, info, &to[reduce_scatter]);
    MPI_Reduce_scatter_block_init(of[reduce_scatter_block].in, of[reduce_scatter_block].out, n, t,
                                  op, comm, info, &to[reduce_scatter_block]);
    MPI_Scan_init(of[scan].in, of[scan].out, n, t, op, comm, info, &to[scan]);
    MPI_Exscan_init(of[exscan].in, of[exscan].out, n, t, op, comm, info, &to[exscan]);
}

static void call_the_mpi(const struct how *how, int n) {
    const MPI_Comm comm = how->comm;
    const MPI_Datatype t = how->type;
    const MPI_Op op = how->op;
    PMPI_Bcast(of[bcast].wanted, n, t, root, comm);
    PMPI_Scatter(of[scatter].in, n, t, of[scatter].wanted, n, t, root, comm);
    PMPI_Scatterv(of[scatterv].in, counts, displacements, t, of[scatterv].wanted, counts[rank], t,
                  root, comm);
    PMPI_Gather(of[gather].in, n, t, of[gather].wanted, n, t, root, comm);
    PMPI_Gatherv(of[gatherv].in, counts[rank], t, of[gatherv].wanted, counts, displacements, t,
                 root, comm);
    PMPI_Allgather(of[allgather].in, n, t, of[allgather].wanted, n, t, comm);
    PMPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, of[allgather_in_place].wanted, n, t, comm);
    PMPI_Allgatherv(of[allgatherv].in, counts[rank], t, of[allgatherv].wanted, counts,
                    displacements, t, comm);
    PMPI_Alltoall(of[alltoall].in, n, t, of[alltoall].wanted, n, t, comm);
    PMPI_Reduce(of[reduce].in, of[reduce].wanted, n, t, op, root, comm);
    PMPI_Allreduce(of[allreduce].in, of[allreduce].wanted, n, t, op, comm);
    PMPI_Allreduce(MPI_IN_PLACE, of[allreduce_in_place].wanted, n, t, op, comm);
    PMPI_Reduce_scatter(of[reduce_scatter].in, of[reduce_scatter].wanted, equal_counts, t, op,
                        comm);
    PMPI_Reduce_scatter_block(of[reduce_scatter_block].in, of[reduce_scatter_block].wanted, n, t,
                              op, comm);
    PMPI_Scan(of[scan].in, of[scan].wanted, n, t, op, comm);
    PMPI_Exscan(of[exscan].in, of[exscan].wanted, n, t, op, comm);
}

/* Other data in each round, and the same in both results, where some of it may be the input. */
static void give(int round) {
    const size_t ints = buffer_bytes / sizeof(int);
    for (int kind = 0; kind < kinds; ++kind) {
        for (size_t i = 0; i < ints; ++i) {
            of[kind].in[i] = (int)((i * 7 + (size_t)(kind + 31 * rank + 101 * round)) % 1009);
            of[kind].out[i] = of[kind].wanted[i] = of[kind].in[i] + 1;
        }
    }
}

static void start(MPI_Request requests[kinds], int round) {
    if (round % 2 == 0) {
        MPI_Startall(kinds - first, requests + first);
        return;
    }
    for (int kind = first; kind < kinds; ++kind) MPI_Start(&requests[kind]);
}

static void wait_for_all(MPI_Request requests[kinds], int round) {
    int index = 0, flag = 0;
    switch (round % 4) {
        case 0: MPI_Waitall(kinds - first, requests + first, MPI_STATUSES_IGNORE); return;
        case 1:
            for (int kind = kinds - 1; kind >= first; --kind) {
                MPI_Wait(&requests[kind], MPI_STATUS_IGNORE);
            }
            return;
        case 2: do { MPI_Waitany(kinds - first, requests + first, &index, MPI_STATUS_IGNORE);
            } while (index != MPI_UNDEFINED);
            return;
        default:
            while (!flag) MPI_Testall(kinds - first, requests + first, &flag, MPI_STATUSES_IGNORE);
    }
}

static void check(int with_gaps, int n, int round) {
    for (int kind = first; kind < kinds; ++kind) {
        if (memcmp(of[kind].out, of[kind].wanted, buffer_bytes) == 0) continue;
        if (wrong++) continue;
        fprintf(stderr, "rank %d: %s of %d elements%s in round %d is wrong\n", rank, names[kind], n,
                with_gaps ? " with gaps" : "", round);
    }
}

static void set_counts(int n) {
    for (int r = 0, begin = 0; r < ranks; ++r) {
        counts[r] = r % 3 == 1 ? 0 : n - n / (r + 2);
        equal_counts[r] = n;
        displacements[r] = begin;
        begin += counts[r];
    }
}

static void try_all(int with_gaps, int n) {
    MPI_Request requests[kinds];
    struct how given = how_to_call(with_gaps), kept = how_to_call(with_gaps);
    set_counts(n);
    prepare(&given, n, requests);
    if (frees_early) free_all(&given);
    for (int round = 0; round < rounds; ++round) {
        give(round);
        start(requests, round);
        if (round % 2) call_the_mpi(&kept, n);
        wait_for_all(requests, round);
        if (round % 2 == 0) call_the_mpi(&kept, n);
        check(with_gaps, n, round);
    }
    for (int kind = 0; kind < kinds; ++kind) MPI_Request_free(&requests[kind]);
    if (!frees_early) free_all(&given);
    free_all(&kept);
}

int main(int argc, char **argv) {
    static const int lengths[] = {1, count_max};
    int wrong_in_all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    root = ranks - 1;
    frees_early = argc > 1 && strcmp(argv[1], "early") == 0;
    first = argc > 2 ? scatter : barrier;
    buffer_bytes = (size_t)ranks * count_max * element_bytes_max;
    for (int kind = 0; kind < kinds; ++kind) {
        of[kind] = (struct buffers){room(), room(), room()};
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        try_all(0, lengths[i]);
        try_all(1, lengths[i]);
    }
    MPI_Reduce(&wrong, &wrong_in_all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !wrong_in_all) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
