/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI job that tells rank 0's phase on standard output, so that a test can pull a cable in each:
 * "starting" before MPI_Init, "working" in the midst, "ending" before MPI_Finalize. The ranks send
 * each other data that they check, and sum vectors; a wrong byte or sum ends the job. After half of
 * their iterations they go on until FILE is there, if one is named.
 *
 *     mpirun -n 2 ./outlives ITERATIONS [FILE]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { bytes_max = 1 << 20, sums = 4096 };

static void tell(int rank, const char *phase) {
    if (rank != 0) return;
    puts(phase);
    fflush(stdout);
}

static void check(int right, const char *what, int iteration) {
    if (right) return;
    fprintf(stderr, "iteration %d: %s is wrong\n", iteration, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange(unsigned char *mine, unsigned char *theirs, int bytes, int seed, int rank,
                     int ranks) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int at = 0; at < bytes; ++at) mine[at] = (unsigned char)(at * 31 + seed + rank);
    memset(theirs, 0, (size_t)bytes);
    MPI_Sendrecv(mine, bytes, MPI_BYTE, next, 1, theirs, bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int at = 0; at < bytes; ++at) {
        check(theirs[at] == (unsigned char)(at * 31 + seed + before), "a message", seed);
    }
}

static void add(double *mine, double *all, int seed, int rank, int ranks) {
    for (int at = 0; at < sums; ++at) mine[at] = at + seed + rank;
    MPI_Allreduce(mine, all, sums, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double own = ranks * (ranks - 1) / 2.0;
    for (int at = 0; at < sums; ++at) {
        check(all[at] == ranks * (double)(at + seed) + own, "a sum", seed);
    }
}

/* Rank 0 looks, so that all ranks do the same. */
static int is_missing(const char *file, int rank) {
    int missing = rank == 0 && access(file, F_OK) != 0;
    MPI_Bcast(&missing, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return missing;
}

int main(int count, char **words) {
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    tell(number ? atoi(number) : 0, "starting");
    MPI_Init(&count, &words);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int iterations = count > 1 ? atoi(words[1]) : 100;
    const char *file = count > 2 ? words[2] : NULL;
    unsigned char *mine = malloc(bytes_max), *theirs = malloc(bytes_max);
    double *addends = malloc(sums * sizeof *addends), *all = malloc(sums * sizeof *all);
    for (int i = 0; i < iterations; ++i) {
        if (i == iterations / 10) tell(rank, "working");
        do {
            exchange(mine, theirs, i % 8 == 0 ? bytes_max : 1000 + i % 64, i, rank, ranks);
            add(addends, all, i, rank, ranks);
        } while (file != NULL && i == iterations / 2 && is_missing(file, rank));
    }
    tell(rank, "ending");
    MPI_Finalize();
    tell(rank, "all right");
    return 0;
}
