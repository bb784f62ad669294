/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions that no MPI does: by operators of the MPI of types that they do not take.  Each has to
 * return an error and leave what is behind its buffers alone.  Rank 0 prints "all right".
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 4096 };

static int wrong;

static void refuse(MPI_Datatype type, MPI_Op op) {
    unsigned char mine[ROOM] = {0}, all[ROOM] = {0}, untouched[ROOM] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    wrong += MPI_Allreduce(mine, all, 1, type, op, MPI_COMM_WORLD) == MPI_SUCCESS;
    int code = MPI_Iallreduce(mine, all, 1, type, op, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += code == MPI_SUCCESS;
    wrong += MPI_Reduce(mine, all, 1, type, op, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
    wrong += memcmp(all + 16, untouched, ROOM - 16) != 0;
}

int main(int argc, char **argv) {
    MPI_Datatype copy;
    int rank = 0, worst = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_dup(MPI_DOUBLE, &copy);
    refuse(copy, MPI_SUM);
    refuse(MPI_DOUBLE, MPI_MAXLOC);
    refuse(MPI_C_DOUBLE_COMPLEX, MPI_MAX);
    MPI_Type_free(&copy);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    return MPI_Finalize();
}
