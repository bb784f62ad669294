/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of 12 cells whose numbers have wild exponents, by MPI_SUM over any number of ranks that
 * divides 6, or over 12.  The sum of the two cells of a pair is exact, and each rank adds up whole
 * pairs (with more than one pair, through the MPI as well).  Rank 0 prints the bits of all sums.
 */
#include <mpi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 12, COUNT = 2000 };

/* As the test computes it, too. */
static double number(int cell, int element)
{
    uint64_t bits = (uint64_t)cell * 2654435761u + (uint64_t)element * 40503u + 12345u;
    bits = (bits * 6364136223846793005u + 1442695040888963407u) >> 20;
    const int exponent = (cell / 2 * 37 + element) % 90 - 45;
    const double mantissa = (double)(int64_t)(bits % 33554432u) - 16777216.0;
    return ldexp(mantissa, exponent);
}

static void print_bits(const char *what, const double *sums, int count)
{
    for (int i = 0; i < count; ++i) printf("%s %d %a\n", what, i, sums[i]);
}

int main(int argc, char **argv)
{
    static double mine[COUNT], sums[COUNT], part[COUNT];
    int rank = 0, ranks = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int own = CELLS / ranks;
    for (int i = 0; i < COUNT; ++i) {
        for (int c = rank * own; c < (rank + 1) * own; ++c) mine[i] += number(c, i);
    }
    MPI_Allreduce(mine, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) print_bits("allreduce", sums, COUNT);

    for (int i = 0; i < COUNT; ++i) part[i] = mine[i];
    if (rank == 0) MPI_Reduce(MPI_IN_PLACE, part, COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else MPI_Reduce(part, NULL, COUNT, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) print_bits("reduce", part, COUNT);

    const int block = COUNT / CELLS;
    MPI_Reduce_scatter_block(mine, part, block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) print_bits("reduce_scatter", part, block);

    double alone[] = {-0.0, NAN};
    MPI_Allreduce(MPI_IN_PLACE, alone, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("zero %d\n", signbit(alone[0]) != 0);
    MPI_Finalize();
    return 0;
}
