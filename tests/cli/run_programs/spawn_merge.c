/* SPDX-License-Identifier: BSD-3-Clause */
/* Spawned processes, which may lack the preloaded library, in a communicator with their parents. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Comm parent, between, all, half;
    int value = 0, rank = 0, ranks = 0, sum = 0, worst = 0;
    double part = 0.5, parts = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    between = parent;
    if (parent == MPI_COMM_NULL) {
        char *words[] = {"-u", "LD_PRELOAD", argv[0], NULL};
        const int without = getenv("WITHOUT_LIBRARY") != NULL;
        MPI_Comm_spawn(without ? "env" : argv[0], without ? words : MPI_ARGV_NULL, 2, MPI_INFO_NULL,
                       0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    value = rank == 0 ? 42 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Allreduce(&part, &parts, 1, MPI_DOUBLE, MPI_SUM, all);
    int wrong = value != 42 || parts != ranks / 2.0 || sum != ranks * (ranks - 1) / 2;
    MPI_Comm_split(all, rank % 2, rank, &half);
    MPI_Bcast(&value, 1, MPI_INT, 0, half);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, all);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
    /* Whatever these ranks write at their end comes after what the others wrote. */
    if (parent != MPI_COMM_NULL) usleep(300000);
    MPI_Finalize();
    return wrong;
}
