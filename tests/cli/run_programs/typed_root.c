/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A root that gathers what the others send as numbers in a row into numbers with gaps, and in the
 * next call in a row; MPI compares signatures, not types. Rank 0 prints "all right".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { numbers = 4096, calls = 8 };

int main(int argc, char **argv) {
    int rank = 0, ranks = 0, wrong = 0;
    MPI_Datatype gaps, spread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_vector(numbers, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_create_resized(gaps, 0, 2 * numbers * (MPI_Aint)sizeof(double), &spread);
    MPI_Type_commit(&spread);
    double *mine = malloc(sizeof(double) * numbers);
    double *all = malloc(sizeof(double) * (size_t)(2 * numbers * ranks));
    for (int call = 0; call < calls; ++call) {
        const int with_gaps = call % 2 == 0, step = with_gaps ? 2 : 1;
        for (int i = 0; i < numbers; ++i) mine[i] = rank + i + call;
        const int root_has_gaps = with_gaps && rank == 0;
        MPI_Gather(mine, numbers, MPI_DOUBLE, all, root_has_gaps ? 1 : numbers,
                   root_has_gaps ? spread : MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int i = 0; rank == 0 && i < numbers * ranks; ++i)
            wrong += all[i * step] != i / numbers + i % numbers + call;
    }
    if (rank == 0) printf(wrong ? "wrong\n" : "all right\n");
    free(mine);
    free(all);
    MPI_Type_free(&gaps);
    MPI_Type_free(&spread);
    MPI_Finalize();
    return wrong != 0;
}
