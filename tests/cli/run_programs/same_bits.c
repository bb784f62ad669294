/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of 12 cells whose numbers have wild exponents, by MPI_SUM over a number of ranks that
 * divides 12.  On 6 ranks and on 12 each rank's own number is exact.  Rank 0 prints the bits of all
 * sums: of whole vectors, and of vectors in pieces; with the argument "nonblocking" of requests as
 * well, also persistent ones.  With "scan" it prints what the last rank has of a scan instead.
 * With "product" the cells are multiplied by MPI_PROD; the product of two is exact, too.  With
 * "others" it counts the results of other operators that are not as they should be.  With
 * "persistent" it also prepares reductions of integers and doubles, and starts each twice.  With
 * "groups" it also adds integers and doubles over the two groups of an intercommunicator.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "persistent_names.h"

enum { CELLS = 12, COUNT = 6000 };

/* As the test computes it, too. */
static double number(int cell, int element) {
    uint64_t bits = (uint64_t)cell * 2654435761u + (uint64_t)element * 40503u + 12345u;
    bits = (bits * 6364136223846793005u + 1442695040888963407u) >> 20;
    const int exponent = (cell / 2 * 37 + element) % 90 - 45;
    const double mantissa = (double)(int64_t)(bits % 33554432u) - 16777216.0;
    return ldexp(mantissa, exponent);
}

static void print_bits(const char *what, const double *sums, int count) {
    for (int i = 0; i < count; ++i) printf("%s %d %a\n", what, i, sums[i]);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void add_own(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double *)inout)[i] += ((double *)in)[i];
}

/* Operators whose results do not depend on how ranks are combined, and one of which this is not
 * known.
 */
static void check_others(int rank, int ranks) {
    const double nan_of_one = -nan("0x123");
    const double given[] = {rank == ranks / 2 ? nan_of_one : rank, rank == 1 ? -0.0 : 0.0,
                            rank == 0 ? 0.0 : -0.0};
    double most[3], least[3];
    int one = rank, all = 0, wrong = 0;
    MPI_Op own;
    MPI_Allreduce(given, most, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(given, least, 3, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    const uint64_t one_nan = 0x7ff8000000000000u;
    wrong += bits_of(most[0]) != one_nan || bits_of(least[0]) != one_nan;
    wrong += bits_of(most[1]) != bits_of(0.0) || bits_of(most[2]) != bits_of(0.0);
    wrong += bits_of(least[1]) != bits_of(ranks > 1 ? -0.0 : 0.0);
    wrong += bits_of(least[2]) != bits_of(ranks > 1 ? -0.0 : 0.0);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += all != ranks * (ranks - 1) / 2;
    MPI_Op_create(add_own, 1, &own);
    MPI_Allreduce(given + 1, most, 1, MPI_DOUBLE, own, MPI_COMM_WORLD);
    MPI_Op_free(&own);
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("others %d\n", wrong);
}

static void start_prepared(void) {
    MPI_Request requests[2];
    int ones[] = {1, 0};
    double halves[] = {0.5, 0};
    const MPI_Info none = MPI_INFO_NULL;
    MPI_Allreduce_init(ones, ones + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, none, requests);
    MPI_Allreduce_init(halves, halves + 1, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, none,
                       requests + 1);
    for (int i = 0; i < 2; ++i) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2; ++i) MPI_Request_free(requests + i);
}

static void add_over_groups(int rank, int ranks) {
    MPI_Comm group, between;
    int one = 1, ones = 0;
    double half = 0.5, halves = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank < ranks / 2 ? ranks / 2 : 0, 0, &between);
    MPI_Allreduce(&one, &ones, 1, MPI_INT, MPI_SUM, between);
    MPI_Allreduce(&half, &halves, 1, MPI_DOUBLE, MPI_SUM, between);
    MPI_Comm_free(&between);
    MPI_Comm_free(&group);
}

/* In place where there is one, and with blocks of one size and of several. */
static void reduce_by_requests(const double *mine, int rank, int ranks) {
    static double sums[COUNT];
    int counts[CELLS];
    MPI_Request request;
    const MPI_Op op = MPI_SUM;
    MPI_Iallreduce(mine, sums, COUNT, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) print_bits("iallreduce", sums, COUNT);

    memcpy(sums, mine, sizeof sums);
    if (rank == 0) {
        MPI_Ireduce(MPI_IN_PLACE, sums, COUNT, MPI_DOUBLE, op, 0, MPI_COMM_WORLD, &request);
    } else {
        MPI_Ireduce(sums, NULL, COUNT, MPI_DOUBLE, op, 0, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) print_bits("ireduce", sums, COUNT);

    const int block = COUNT / CELLS;
    MPI_Ireduce_scatter_block(mine, sums, block, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) print_bits("ireduce_scatter_block", sums, block);

    for (int r = 0; r < ranks; ++r) counts[r] = r == 0 ? 300 : 10 * r;
    memcpy(sums, mine, sizeof sums);
    MPI_Ireduce_scatter(MPI_IN_PLACE, sums, counts, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) print_bits("ireduce_scatter", sums, 300);
}

/* The third start of each; the other two add other numbers. */
static void reduce_by_prepared_requests(const double *mine, int rank, int ranks) {
    static double given[COUNT], sums[COUNT], at_root[COUNT], part[COUNT];
    int counts[CELLS];
    MPI_Request requests[3];
    const MPI_Op op = MPI_SUM;
    const MPI_Info none = MPI_INFO_NULL;
    for (int r = 0; r < ranks; ++r) counts[r] = r == 0 ? 300 : 10 * r;
    MPI_Allreduce_init(given, sums, COUNT, MPI_DOUBLE, op, MPI_COMM_WORLD, none, requests);
    MPI_Reduce_init(given, at_root, COUNT, MPI_DOUBLE, op, 0, MPI_COMM_WORLD, none, requests + 1);
    MPI_Reduce_scatter_init(given, part, counts, MPI_DOUBLE, op, MPI_COMM_WORLD, none,
                            requests + 2);
    for (int turn = 0; turn < 3; ++turn) {
        for (int i = 0; i < COUNT; ++i) given[i] = turn == 2 ? mine[i] : turn + rank;
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 3; ++i) MPI_Request_free(requests + i);
    if (rank != 0) return;
    print_bits("persistent_allreduce", sums, COUNT);
    print_bits("persistent_reduce", at_root, COUNT);
    print_bits("persistent_reduce_scatter", part, 300);
}

int main(int argc, char **argv) {
    static double mine[COUNT], sums[COUNT], part[COUNT];
    int rank = 0, ranks = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int own = CELLS / ranks;
    const int multiplies = argc > 1 && strcmp(argv[1], "product") == 0;
    const MPI_Op op = multiplies ? MPI_PROD : MPI_SUM;
    for (int i = 0; i < COUNT; ++i) {
        if (multiplies) mine[i] = 1;
        for (int c = rank * own; c < (rank + 1) * own; ++c) {
            if (multiplies)
                mine[i] *= number(c, i);
            else
                mine[i] += number(c, i);
        }
    }
    if (argc > 1 && strcmp(argv[1], "scan") == 0) {
        MPI_Scan(mine, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(sums, COUNT, MPI_DOUBLE, ranks - 1, MPI_COMM_WORLD);
        if (rank == 0) print_bits("scan", sums, COUNT);
        if (rank == 0) printf("zero 1\n");
        return MPI_Finalize();
    }
    MPI_Allreduce(mine, sums, COUNT, MPI_DOUBLE, op, MPI_COMM_WORLD);
    if (rank == 0) print_bits("allreduce", sums, COUNT);

    for (int i = 0, n = 1; i < COUNT; i += n, n = n * 3 % 101) {
        if (n > COUNT - i) n = COUNT - i;
        MPI_Allreduce(mine + i, sums + i, n, MPI_DOUBLE, op, MPI_COMM_WORLD);
    }
    if (rank == 0) print_bits("pieces", sums, COUNT);

    if (argc > 1 && strcmp(argv[1], "nonblocking") == 0) {
        reduce_by_requests(mine, rank, ranks);
        reduce_by_prepared_requests(mine, rank, ranks);
    }

    for (int i = 0; i < COUNT; ++i) part[i] = mine[i];
    if (rank == 0)
        MPI_Reduce(MPI_IN_PLACE, part, COUNT, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
    else
        MPI_Reduce(part, NULL, COUNT, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
    if (rank == 0) print_bits("reduce", part, COUNT);

    const int block = COUNT / CELLS;
    MPI_Reduce_scatter_block(mine, part, block, MPI_DOUBLE, op, MPI_COMM_WORLD);
    if (rank == 0) print_bits("reduce_scatter_block", part, block);

    int counts[CELLS];
    for (int r = 0; r < ranks; ++r) counts[r] = r == 0 ? 300 : 10 * r;
    MPI_Reduce_scatter(mine, part, counts, MPI_DOUBLE, op, MPI_COMM_WORLD);
    if (rank == 0) print_bits("reduce_scatter", part, 300);

    if (argc > 1 && strcmp(argv[1], "others") == 0) check_others(rank, ranks);
    if (argc > 1 && strcmp(argv[1], "persistent") == 0) start_prepared();
    if (argc > 1 && strcmp(argv[1], "groups") == 0) add_over_groups(rank, ranks);

    double alone[] = {-0.0, NAN};
    MPI_Allreduce(MPI_IN_PLACE, alone, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("zero %d\n", signbit(alone[0]) != 0);
    MPI_Finalize();
    return 0;
}
