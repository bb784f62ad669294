/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks that exchange 8 bytes, and then call MPI_Allreduce with 64 KiB of floats. Rank 0 prints
 * the mean half round trip and the mean time of an allreduce in microseconds. The argument is the
 * number of calls of each that are timed; a tenth as many come before them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { message_bytes = 8, floats = (64 << 10) / sizeof(float) };

static float mine[floats], theirs[floats];

static void exchange(int rank) {
    if (rank == 0) MPI_Send(mine, message_bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(theirs, message_bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(mine, message_bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

static void allreduce(int rank) {
    (void)rank;
    MPI_Allreduce(mine, theirs, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double mean_us(void (*call)(int), int rank, int calls) {
    for (int i = 0; i < calls / 10; ++i) call(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call(rank);
    return 1e6 * (MPI_Wtime() - begin_s) / calls;
}

int main(int count, char **words) {
    int rank, ranks;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int calls = count == 2 ? atoi(words[1]) : 0;
    if (ranks != 2 || calls < 1) {
        fprintf(stderr, "this needs two ranks and a number of calls\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const double latency_us = mean_us(exchange, rank, calls) / 2;
    const double allreduce_us = mean_us(allreduce, rank, calls);
    if (rank == 0) printf("latency_us %.4f allreduce_us %.4f\n", latency_us, allreduce_us);
    MPI_Finalize();
    return 0;
}
