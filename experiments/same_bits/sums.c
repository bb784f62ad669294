/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that adds numbers of wild exponents over its ranks by MPI_SUM, in several ways.  Rank 0
 * prints the bits of the sums, and the times of an allreduce as the program calls it and of another
 * one, in turns: of an algorithm of Lanewise, or without a name of the MPI's own.
 *
 *     sums CELLS ROUNDS BYTES[:ALGORITHM:SEGMENT]...
 *
 * The numbers are those of CELLS cells, of which each rank owns as many; they do not depend on the
 * number of ranks.  The numbers of a pair of cells add up without rounding.
 */
#include <lanewise/collectives.h>
#include <mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 960 };

static int rank = 0, ranks = 1;

static double number(int cell, int element)
{
    uint64_t bits = (uint64_t)cell * 2654435761u + (uint64_t)element * 40503u + 12345u;
    bits = (bits * 6364136223846793005u + 1442695040888963407u) >> 20;
    const int exponent = (cell / 2 * 37 + element) % 90 - 45;
    return ldexp((double)(int64_t)(bits % 33554432u) - 16777216.0, exponent);
}

static void print_sums(const char *what, const double *sums, int count)
{
    if (rank != 0) return;
    printf("\"%s\": [", what);
    for (int i = 0; i < count; ++i) printf("%s\"%a\"", i ? ", " : "", sums[i]);
    printf("], ");
}

static void add_up(int cells)
{
    static double mine[COUNT], sums[COUNT], part[COUNT];
    const int own = cells / ranks;
    for (int i = 0; i < COUNT; ++i) {
        for (int c = rank * own; c < (rank + 1) * own; ++c) mine[i] += number(c, i);
    }
    MPI_Allreduce(mine, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    print_sums("whole", sums, COUNT);
    for (int i = 0, n = 1; i < COUNT; i += n, n = n * 3 % 101) {
        if (n > COUNT - i) n = COUNT - i;
        MPI_Allreduce(mine + i, sums + i, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    print_sums("splits", sums, COUNT);
    for (int n = COUNT; n > 0; n /= 3) {
        MPI_Allreduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    print_sums("sizes", sums, COUNT);
    MPI_Reduce(mine, part, COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    print_sums("reduce", part, COUNT);
    MPI_Reduce_scatter_block(mine, part, COUNT / cells, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    print_sums("reduce_scatter", part, COUNT / cells);
}

typedef int (*Allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static lw_algorithm *named = NULL;

static int by_named(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm)
{
    return lw_allreduce(send, receive, count, type, op, comm, named) == LW_OK ? MPI_SUCCESS
                                                                              : MPI_ERR_OTHER;
}

/* The allreduce to compare with. */
static Allreduce other_of(const char *choice)
{
    char name[64] = "";
    unsigned long segment = 0;
    const char *colon = strchr(choice, ':');
    lw_algorithm_free(named);
    named = NULL;
    if (!colon) return PMPI_Allreduce;
    if (sscanf(colon, ":%63[^:]:%lu", name, &segment) != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    if (lw_algorithm_named("allreduce", name, segment, &named) != LW_OK) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return by_named;
}

static double time_s(Allreduce call, const double *send, double *receive, int count)
{
    double elapsed_s = 0.0;
    double longest_s = 0.0;
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = MPI_Wtime();
    if (call(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    elapsed_s = MPI_Wtime() - begin_s;
    PMPI_Allreduce(&elapsed_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest_s;
}

static void take_times(const char *choice, int rounds)
{
    const int bytes = atoi(choice);
    const Allreduce other = other_of(choice);
    const int count = bytes / (int)sizeof(double);
    double *send = malloc((size_t)bytes);
    double *receive = malloc((size_t)bytes);
    if (!send || !receive) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < count; ++i) {
        const double uniform = (i * 2654435761u % 1000003 + rank + 1) / 1000005.0;
        send[i] = sqrt(-2.0 * log(uniform)) * cos(6.283185307179586 * (i % 997) / 997.0);
    }
    if (rank == 0) printf(", [%d, [", bytes);
    for (int i = 0; i < rounds; ++i) {
        const double through_s = time_s(MPI_Allreduce, send, receive, count);
        const double past_s = time_s(other, send, receive, count);
        if (rank == 0) printf("%s[%.9g, %.9g]", i ? ", " : "", through_s, past_s);
    }
    if (rank == 0) printf("]]");
    free(send);
    free(receive);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) printf("{");
    add_up(atoi(argv[1]));
    if (rank == 0) printf("\"times\": [null");
    for (int i = 3; i < argc; ++i) take_times(argv[i], atoi(argv[2]));
    if (rank == 0) printf("]}\n");
    MPI_Finalize();
    return 0;
}
