/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce_scatter and MPI_Ireduce_scatter with MPI_IN_PLACE on every other rank, which MPI 4.0
 * allows in section 6.10.2. Rank 0 prints "all right", or every rank says what is not.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { block = 1000 };

static int rank, ranks, wrong;

static void reduce(const void *send, int *receive, const int *counts, int later) {
    MPI_Request request;
    if (!later) {
        MPI_Reduce_scatter(send, receive, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        return;
    }
    MPI_Ireduce_scatter(send, receive, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int worst = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *counts = malloc(sizeof(int) * (size_t)ranks);
    int *sent = malloc(sizeof(int) * (size_t)(block * ranks));
    int *received = malloc(sizeof(int) * (size_t)(block * ranks));
    for (int r = 0; r < ranks; ++r) counts[r] = block;
    for (int call = 0; call < 40; ++call) {
        const int in_place = (rank + call) % 2;
        for (int i = 0; i < block * ranks; ++i) sent[i] = received[i] = rank + i + call;
        reduce(in_place ? MPI_IN_PLACE : sent, received, counts, call / 2 % 2);
        for (int i = 0; i < block; ++i) {
            const int sum = ranks * (ranks - 1) / 2 + ranks * (block * rank + i + call);
            if (received[i] != sum && wrong++ == 0)
                fprintf(stderr, "rank %d, call %d: %d, not %d\n", rank, call, received[i], sum);
        }
    }
    free(received);
    free(sent);
    free(counts);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
