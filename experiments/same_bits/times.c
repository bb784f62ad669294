/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that times its MPI_Allreduce of doubles.  Rank 0 prints the median over ROUNDS of the
 * time of the slowest rank, in seconds, for each size.
 *
 *     times ROUNDS BYTES...
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 5 };

static int by_value(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double time_s(const double *send, double *receive, int count) {
    double longest_s = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = MPI_Wtime();
    MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double elapsed_s = MPI_Wtime() - begin_s;
    MPI_Allreduce(&elapsed_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest_s;
}

/* Numbers that are distributed normally, by Box and Muller. */
static void fill(double *numbers, int count, int rank) {
    for (int i = 0; i < count; ++i) {
        const double uniform = (i * 2654435761u % 1000003 + (unsigned)rank + 1) / 1000005.0;
        numbers[i] = sqrt(-2.0 * log(uniform)) * cos(6.283185307179586 * (i % 997) / 997.0);
    }
}

int main(int argc, char **argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int rounds = argc < 3 ? 0 : atoi(argv[1]);
    double *times_s = malloc((size_t)(rounds + 1) * sizeof(double));
    if (rounds < 1 || !times_s) MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) printf("[");
    for (int size = 2; size < argc; ++size) {
        const int bytes = atoi(argv[size]);
        const int count = bytes / (int)sizeof(double);
        double *send = malloc((size_t)bytes);
        double *receive = malloc((size_t)bytes);
        if (count < 1 || !send || !receive) MPI_Abort(MPI_COMM_WORLD, 2);
        fill(send, count, rank);
        for (int i = 0; i < WARM_UP; ++i) time_s(send, receive, count);
        for (int i = 0; i < rounds; ++i) times_s[i] = time_s(send, receive, count);
        qsort(times_s, (size_t)rounds, sizeof(double), by_value);
        if (rank == 0) printf("%s%.9g", size > 2 ? ", " : "", times_s[rounds / 2]);
        free(send);
        free(receive);
    }
    if (rank == 0) printf("]\n");
    free(times_s);
    MPI_Finalize();
    return 0;
}
