/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways to end after some calls, by the argument: "forked", where a child of every rank outlives
 * MPI_Finalize; and "unfinished", without MPI_Finalize.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends as a program does, once the parent has closed its end of the pipe. */
static void outlive(const int *ends) {
    char nothing;
    close(ends[1]);
    while (read(ends[0], &nothing, 1) > 0) continue;
    exit(0);
}

int main(int argc, char **argv) {
    int value = 1;
    int ends[2];
    int status = 0;
    int rank = 0;
    if (argc != 2 || pipe(ends) != 0) return 2;
    MPI_Init(&argc, &argv);
    for (int call = 0; call < 10; ++call) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (strcmp(argv[1], "unfinished") == 0) {
        /* A launcher may end the others with the first. */
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank != 0) sleep(1);
        exit(0);
    }
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) outlive(ends);
    MPI_Finalize();
    close(ends[1]);
    if (waitpid(child, &status, 0) != child) return 2;
    return status != 0;
}
