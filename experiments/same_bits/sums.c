/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that adds and multiplies numbers of wild exponents over its ranks, in several ways.
 * Rank 0 prints the first results, a hash of all sums, and in how many ways any element had other
 * bits than the sum of the whole vector by one call has.
 *
 *     sums CELLS [ALGORITHM:SEGMENT]...
 *
 * The numbers are those of CELLS cells and do not depend on the number of ranks.  Each rank owns a
 * cell, or a pair of cells whose numbers add up without rounding, or none; so CELLS is at most
 * twice the number of ranks.  Algorithms that are named reduce the same vector by lw_allreduce.
 */
#include <lanewise/collectives.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 960,           /* how many results are printed */
    WHOLE = (4 << 20) / 8, /* doubles of 4 MiB */
    SPLIT = 70000,         /* numbers that are added in parts of random sizes */
    SPLITS = 4,
    SUBNORMAL_EVERY = 10 /* one in as many sums is below the normal numbers */
};

static int rank = 0, ranks = 1;
static double *mine = NULL, *whole = NULL, *sums = NULL;

/* An integer of at most 2^24, by chance. */
static int64_t integer(int cell, int element) {
    const uint64_t bits = (uint64_t)cell * 2654435761u + (uint64_t)element * 40503u + 12345u;
    const uint64_t mixed = (bits * 6364136223846793005u + 1442695040888963407u) >> 20;
    return (int64_t)(mixed % 33554432u) - 16777216;
}

/* From -45 to 44; a pair of cells has the same one. */
static int exponent(int cell, int element) {
    return (cell / 2 * 37 + element) % 90 - 45;
}

static double number(int cell, int element) {
    const int below = element % SUBNORMAL_EVERY == SUBNORMAL_EVERY - 1 ? 1029 : 0;
    return ldexp((double)integer(cell, element), exponent(cell, element) - below);
}

/* Half of a pair is a power of two, by which the other one is multiplied without rounding. */
static double factor(int cell, int element) {
    if (cell % 2) return ldexp(1.0, (cell * 31 + element) % 60 - 30);
    return ldexp((double)(2 * integer(cell, element) + 1), exponent(cell, element));
}

static float float_number(int cell, int element) {
    return ldexpf((float)(integer(cell, element) / 4), exponent(cell, element));
}

/* The cells of a rank: [first, last).  The first ranks own pairs, the next ones single cells. */
static void own_cells(int cells, int owner, int *first, int *last) {
    const int pairs = cells > ranks ? cells - ranks : 0;
    *first = owner < pairs ? 2 * owner : pairs + owner;
    *last = *first + (owner < pairs ? 2 : 1);
    if (*first > cells) *first = cells;
    if (*last > cells) *last = cells;
}

static void add_own(int cells, int owner) {
    int first = 0, last = 0;
    own_cells(cells, owner, &first, &last);
    for (int i = 0; i < WHOLE; ++i) {
        mine[i] = 0.0;
        for (int c = first; c < last; ++c) mine[i] += number(c, i);
    }
}

static void print_first(const char *what, const double *values) {
    if (rank != 0) return;
    printf("\"%s\": [", what);
    for (int i = 0; i < SHOWN; ++i) printf("%s\"%a\"", i ? ", " : "", values[i]);
    printf("], ");
}

/* FNV-1a of the bytes. */
static void print_hash(const char *what, const double *values) {
    const unsigned char *bytes = (const unsigned char *)values;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < WHOLE * sizeof(double); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
    if (rank == 0) printf("\"%s\": \"%016llx\", ", what, (unsigned long long)hash);
}

/* Prints how many of the ways that were tried had other bits, at most, on a rank. */
static void print_others(const char *what, int tried, int others) {
    int most = 0;
    PMPI_Allreduce(&others, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("\"%s\": {\"tried\": %d, \"others\": %d}, ", what, tried, most);
}

static int differ(const double *values, const double *from, int count) {
    return memcmp(values, from, (size_t)count * sizeof(double)) != 0;
}

/* Messages of 8 bytes to 4 MiB, also at both sides of powers of two where algorithms change. */
static void add_in_sizes(void) {
    static const int counts[] = {1,    2,    100,  511,   512,   513,   2047,   2048,     2049,
                                 8191, 8192, 8193, 65535, 65536, 65537, 262144, WHOLE - 1};
    const int tried = (int)(sizeof counts / sizeof counts[0]);
    int others = 0;
    for (int i = 0; i < tried; ++i) {
        MPI_Allreduce(mine, sums, counts[i], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        others += differ(sums, whole, counts[i]);
    }
    print_others("sizes", tried, others);
}

/* Parts of 1 to 65535 numbers, by chance, the same on all ranks. */
static void add_in_parts(void) {
    uint64_t state = 20261126u;
    int others = 0;
    for (int split = 0; split < SPLITS; ++split) {
        for (int i = 0, n = 0; i < SPLIT; i += n) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            n = 1 << (state >> 60);
            n += (int)((state >> 33) % (uint64_t)n);
            if (n > SPLIT - i) n = SPLIT - i;
            MPI_Allreduce(mine + i, sums + i, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        others += differ(sums, whole, SPLIT);
    }
    print_others("splits", SPLITS, others);
}

/* MPI_Reduce to the first and to the last rank, and MPI_Reduce_scatter_block. */
static void add_by_other_collectives(void) {
    const int block = SPLIT / ranks;
    int others = 0;
    for (int root = 0; root < ranks; root += (ranks > 1 ? ranks - 1 : 1)) {
        MPI_Reduce(mine, sums, SPLIT, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        others += rank == root && differ(sums, whole, SPLIT);
    }
    MPI_Reduce_scatter_block(mine, sums, block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    others += differ(sums, whole + (size_t)rank * (size_t)block, block);
    print_others("collectives", 3, others);
}

/* An algorithm that is not for this number of ranks does not count as tried. */
static void add_by_algorithms(int count, char **names) {
    static const int counts[] = {SHOWN, 22222, WHOLE};
    int tried = 0, others = 0;
    for (int i = 0; i < 3 * count; ++i) {
        char name[64] = "";
        unsigned long segment = 0;
        lw_algorithm *named = NULL;
        if (sscanf(names[i / 3], "%63[^:]:%lu", name, &segment) != 2 ||
            lw_algorithm_named("allreduce", name, segment, &named) != LW_OK) {
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        const int numbers = counts[i % 3];
        if (lw_allreduce(mine, sums, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, named) ==
            LW_OK) {
            ++tried;
            others += differ(sums, whole, numbers);
        }
        lw_algorithm_free(named);
    }
    print_others("algorithms", tried, others);
}

/* The cells belong to other ranks: only sums that do not depend on this have the same bits. */
static void add_dealt_otherwise(int cells) {
    add_own(cells, (rank + 1) % ranks);
    MPI_Allreduce(mine, sums, WHOLE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    print_others("dealt", 1, differ(sums, whole, WHOLE));
}

static void multiply(int cells) {
    static double own[SHOWN], products[SHOWN];
    int first = 0, last = 0;
    own_cells(cells, rank, &first, &last);
    for (int i = 0; i < SHOWN; ++i) {
        own[i] = 1.0;
        for (int c = first; c < last; ++c) own[i] *= factor(c, i);
    }
    MPI_Allreduce(own, products, SHOWN, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
    print_first("products", products);
}

static void add_floats(int cells) {
    static float own[SHOWN], added[SHOWN];
    static double shown[SHOWN];
    int first = 0, last = 0;
    own_cells(cells, rank, &first, &last);
    for (int i = 0; i < SHOWN; ++i) {
        own[i] = 0.0f;
        for (int c = first; c < last; ++c) own[i] += float_number(c, i);
    }
    MPI_Allreduce(own, added, SHOWN, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < SHOWN; ++i) shown[i] = added[i];
    print_first("floats", shown);
}

static double *numbers(void) {
    double *made = malloc(WHOLE * sizeof(double));
    if (!made) MPI_Abort(MPI_COMM_WORLD, 1);
    return made;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int cells = argc < 2 ? 0 : atoi(argv[1]);
    if (cells < 1 || cells > 2 * ranks) MPI_Abort(MPI_COMM_WORLD, 2);
    mine = numbers();
    whole = numbers();
    sums = numbers();
    add_own(cells, rank);
    if (rank == 0) printf("{");
    MPI_Allreduce(mine, whole, WHOLE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    print_first("sums", whole);
    print_hash("hash", whole);
    add_in_sizes();
    add_in_parts();
    add_by_other_collectives();
    add_by_algorithms(argc - 2, argv + 2);
    multiply(cells);
    add_floats(cells);
    add_dealt_otherwise(cells);
    if (rank == 0) printf("\"ranks\": %d}\n", ranks);
    free(mine);
    free(whole);
    free(sums);
    MPI_Finalize();
    return 0;
}
