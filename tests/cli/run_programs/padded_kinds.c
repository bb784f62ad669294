/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maxima and sums of the real and complex kinds of Fortran that have 18 digits, which are those of
 * a long double. The bytes that these do not use are never the same.
 */
#include <mpi.h>
#include <string.h>
#include <time.h>

enum { numbers = 3 };

int main(int argc, char **argv) {
    long double mine[2 * numbers], all[2 * numbers];
    MPI_Datatype real, complex_kind;
    struct timespec now;
    MPI_Init(&argc, &argv);
    MPI_Type_create_f90_real(18, 4931, &real);
    MPI_Type_create_f90_complex(18, MPI_UNDEFINED, &complex_kind);
    clock_gettime(CLOCK_REALTIME, &now);
    memset(mine, (int)(now.tv_nsec / 100), sizeof mine);
    memset(all, (int)(now.tv_nsec / 100), sizeof all);
    for (int i = 0; i < 2 * numbers; ++i) *(volatile long double *)&mine[i] = 1 + i;
    MPI_Allreduce(mine, all, numbers, real, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(mine, all, numbers, complex_kind, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
