/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the numbers that rank 0 reads from standard input. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank = 0;
    double mine = 0.0, sum = 0.0, number = 0.0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (rank == 0 && scanf("%lf", &number) == 1) mine += number;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%g\n", sum);
    MPI_Finalize();
    return 0;
}
