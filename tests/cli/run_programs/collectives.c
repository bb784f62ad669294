/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program as a user would have it, in C and in C++: every blocking collective and some
 * nonblocking ones, in ways that MPI allows and that are easily got wrong below. Rank 0
 * prints "all right", or every rank says what is not.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ranks_max = 64 };

static int rank, ranks, wrong;

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static void scatter_and_gather(int root) {
    int all[2 * ranks_max], mine[2] = {-1, -1};
    int counts[ranks_max], places[ranks_max];
    const int at_root = rank == root;
    for (int i = 0; i < 2 * ranks; ++i) all[i] = 3 * i + root;
    MPI_Scatter(at_root ? all : NULL, at_root ? 2 : 0, at_root ? MPI_INT : MPI_DATATYPE_NULL, mine,
                2, MPI_INT, root, MPI_COMM_WORLD);
    expect(mine[1], 3 * (2 * rank + 1) + root, "scatter");

    if (at_root) memset(all, 0, sizeof all);
    if (at_root) all[2 * root] = all[2 * root + 1] = 100 + root;
    mine[0] = mine[1] = 100 + rank;
    MPI_Gather(at_root ? MPI_IN_PLACE : mine, at_root ? 0 : 2,
               at_root ? MPI_DATATYPE_NULL : MPI_INT, all, at_root ? 2 : -7,
               at_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    for (int i = 0; at_root && i < 2 * ranks; ++i) expect(all[i], 100 + i / 2, "gather in place");

    for (int i = 0; i < ranks; ++i) counts[i] = i % 2, places[i] = ranks - 1 - i;
    for (int i = 0; i < ranks; ++i) all[i] = 7 * i;
    mine[0] = -1;
    MPI_Scatterv(at_root ? all : NULL, at_root ? counts : NULL, at_root ? places : NULL, MPI_INT,
                 mine, rank % 2, MPI_INT, root, MPI_COMM_WORLD);
    expect(mine[0], rank % 2 ? 7 * (ranks - 1 - rank) : -1, "scatterv");
    mine[0] = 9 * rank;
    MPI_Gatherv(mine, rank % 2, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 1; at_root && i < ranks; i += 2) expect(all[ranks - 1 - i], 9 * i, "gatherv");
}

static void broadcast_what_has_gaps(int root) {
    int grid[12];
    MPI_Datatype column;
    MPI_Type_vector(4, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 12; ++i) grid[i] = rank == root ? i : -i;
    MPI_Bcast(grid, 1, column, root, MPI_COMM_WORLD);
    for (int i = 0; i < 12; ++i) {
        expect(grid[i], i % 3 == 0 || rank == root ? i : -i, "bcast of a derived type");
    }
    MPI_Type_free(&column);
}

static void everyone_to_everyone(void) {
    int out[ranks_max], in[ranks_max], counts[ranks_max], places[ranks_max];
    for (int i = 0; i < ranks; ++i) out[i] = 10 * rank + i, counts[i] = 1, places[i] = i;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; ++i) expect(in[i], 10 * i + rank, "alltoall");
    in[rank] = rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; ++i) expect(in[i], i, "allgather in place");
    MPI_Allgatherv(&rank, 1, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; ++i) expect(in[i], i, "allgatherv");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Pairs (a, b) stand for x -> ax + b; composing them does not commute. */
static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
    const int *f = (const int *)left;
    int *g = (int *)right;
    (void)type;
    for (int i = 0; i < *count; ++i, f += 2, g += 2) {
        const int a = f[0] * g[0], b = f[1] + f[0] * g[1];
        g[0] = a, g[1] = b;
    }
}

static void reduce_in_every_way(void) {
    int vector[ranks_max], sum = 0, map[2] = {2, rank}, whole[2] = {0, 0}, b = 0;
    int ones[ranks_max];
    MPI_Datatype pair;
    MPI_Op composition;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &composition);
    MPI_Reduce(map, whole, 1, pair, composition, ranks - 1, MPI_COMM_WORLD);
    for (int i = ranks - 1; i >= 0; --i) b = i + 2 * b;
    if (rank == ranks - 1) expect(whole[1], b, "reduce by a user's operator");
    MPI_Allreduce(map, whole, 1, pair, composition, MPI_COMM_WORLD);
    expect(whole[1], b, "allreduce by a user's operator");
    /* Both scans of maps x -> 2x + i, the second one in place. */
    MPI_Scan(map, whole, 1, pair, composition, MPI_COMM_WORLD);
    for (int i = rank, to = b = 0; i >= to; --i) b = i + 2 * b;
    expect(whole[1], b, "scan by a user's operator");
    MPI_Exscan(MPI_IN_PLACE, map, 1, pair, composition, MPI_COMM_WORLD);
    for (int i = rank - 1, to = b = 0; i >= to; --i) b = i + 2 * b;
    if (rank > 0) expect(map[1], b, "exscan by a user's operator in place");
    MPI_Op_free(&composition);
    MPI_Type_free(&pair);

    sum = rank;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, ranks * (ranks - 1) / 2, "allreduce in place");
    for (int i = 0; i < ranks; ++i) vector[i] = rank + i, ones[i] = 1;
    MPI_Reduce_scatter_block(vector, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, ranks * (ranks - 1) / 2 + ranks * rank, "reduce_scatter_block");
    MPI_Reduce_scatter(vector, &sum, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, ranks * (ranks - 1) / 2 + ranks * rank, "reduce_scatter");
}

/* Several in flight at once on one communicator, waited for together, and one while busy. */
static void later(int root) {
    int all[2 * ranks_max], mine[2] = {-1, -1}, word = rank == root ? 50 + root : -1;
    int one = 1, count = 0, up_to_here = 0, before = 0, in[ranks_max], busy = 0;
    const int last = ranks - 1;
    MPI_Request requests[6];
    for (int i = 0; i < 2 * ranks; ++i) all[i] = 3 * i + root;
    MPI_Iscatter(rank == root ? all : NULL, rank == root ? 2 : 0,
                 rank == root ? MPI_INT : MPI_DATATYPE_NULL, mine, 2, MPI_INT, root, MPI_COMM_WORLD,
                 &requests[0]);
    MPI_Ibcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(&one, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Iallgather(&rank, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &requests[3]);
    MPI_Iscan(&one, &up_to_here, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]);
    MPI_Iexscan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    expect(mine[1], 3 * (2 * rank + 1) + root, "iscatter");
    expect(word, 50 + root, "ibcast");
    expect(count, ranks, "iallreduce");
    expect(up_to_here, rank + 1, "iscan");
    if (rank > 0) expect(before, rank, "iexscan");
    for (int i = 0; i < ranks; ++i) expect(in[i], i, "iallgather");

    /* The last rank has its part and says so while the others are in a receive. */
    word = rank == root ? root : -1;
    MPI_Ibcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[0]);
    if (rank != last) MPI_Recv(&busy, 1, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int i = 0; rank == last && i < last; ++i) {
        MPI_Send(&busy, 1, MPI_INT, i, 3, MPI_COMM_WORLD);
    }
    expect(word, root, "ibcast while busy");
}

static void on_other_communicators(void) {
    MPI_Comm half, between;
    int value = rank;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Bcast(&value, 1, MPI_INT, 0, half);
    expect(value, rank % 2, "bcast in a half");
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    value = rank % 2 ? 0 : 77;
    MPI_Bcast(&value, 1, MPI_INT, rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, between);
    expect(value, 77, "bcast between halves");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    int provided = 0, worst = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < 3; ++round) {
        for (int root = 0; root < ranks; ++root) {
            scatter_and_gather(root);
            broadcast_what_has_gaps(root);
            later(root);
        }
        everyone_to_everyone();
        reduce_in_every_way();
        if (ranks > 1) on_other_communicators();
    }
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
