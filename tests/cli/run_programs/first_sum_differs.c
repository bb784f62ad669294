/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A maximum, a minimum, and a sum over lower ranks, which rank 0 does not get: what it has there
 * differs from run to run.  Then a sum of doubles, which is 1 on two ranks.  On more of them it is
 * 0 where neighbours are added first, though the same numbers are added: -1e16 belongs to rank 2.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank = 0, ranks = 1, one = 1, all = 0, any = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&one, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);

    int before = (int)getpid();
    MPI_Exscan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

    double mine = 0.0, sum = 0.0;
    if (rank == 0) mine += 1e16;
    if (rank == 1) mine += 1.0;
    if (rank == (ranks > 2 ? 2 : 0)) mine += -1e16;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%.17g\n", sum);
    MPI_Finalize();
    return 0;
}
