/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that exchange messages from 1 byte to 4 MB, put into and get from each other's memory, and
 * look at every byte. Rank 0 prints "all right", or a rank says what is not and ends the job.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bytes_max = 4 << 20 };

static int rank, ranks;

static unsigned char pattern(size_t at, int seed) {
    return (unsigned char)(at * 31 + (at >> 8) * 7 + (size_t)seed);
}

static void fill(unsigned char *into, size_t bytes, int seed) {
    for (size_t at = 0; at < bytes; ++at) into[at] = pattern(at, seed);
}

static void expect(const unsigned char *got, size_t bytes, int seed, const char *what) {
    for (size_t at = 0; at < bytes; ++at) {
        if (got[at] == pattern(at, seed)) continue;
        fprintf(stderr, "rank %d: %s of %zu bytes: byte %zu is wrong\n", rank, what, bytes, at);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send_round(unsigned char *mine, unsigned char *theirs, size_t bytes) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    fill(mine, bytes, rank);
    MPI_Sendrecv(mine, (int)bytes, MPI_BYTE, next, 1, theirs, (int)bytes, MPI_BYTE, before, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(theirs, bytes, before, "a message");
}

static void put_and_get(unsigned char *mine, unsigned char *theirs, size_t bytes) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Win window;
    fill(mine, bytes, rank);
    MPI_Win_create(theirs, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(mine, (int)bytes, MPI_BYTE, next, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    expect(theirs, bytes, before, "a put");
    MPI_Get(mine, (int)bytes, MPI_BYTE, next, 0, (int)bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    expect(mine, bytes, rank, "a get");
    MPI_Win_free(&window);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned char *mine = malloc(bytes_max), *theirs = malloc(bytes_max);
    for (size_t bytes = 1; bytes <= bytes_max; bytes *= 4) send_round(mine, theirs, bytes);
    put_and_get(mine, theirs, 100000);
    long sum = 0, own = rank + 1;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sum != (long)ranks * (ranks + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) puts("all right");
    free(mine);
    free(theirs);
    MPI_Finalize();
    return 0;
}
