/* SPDX-License-Identifier: BSD-3-Clause */
/* What Fortran asks about several requests by names of MPICH, of which older ones have none: with
   -DTHE_MPI, as the MPI would answer; else a program that waits by asking, all, any or some. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

void mpi_request_get_status_all_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag,
                                     void *statuses, MPI_Fint *error);
void mpi_request_get_status_any_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index,
                                     MPI_Fint *flag, void *status, MPI_Fint *error);
void mpi_request_get_status_some_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done_count,
                                      MPI_Fint *indices, void *statuses, MPI_Fint *error);

#ifdef THE_MPI

void mpi_request_get_status_some_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done_count,
                                      MPI_Fint *indices, void *statuses, MPI_Fint *error) {
    (void)statuses;
    *done_count = 0;
    for (int i = 0; i < *count; ++i) {
        int done = 0;
        PMPI_Request_get_status(PMPI_Request_f2c(requests[i]), &done, MPI_STATUS_IGNORE);
        if (done) indices[(*done_count)++] = i + 1;
    }
    *error = MPI_SUCCESS;
}

void mpi_request_get_status_all_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag,
                                     void *statuses, MPI_Fint *error) {
    MPI_Fint done_count = 0, indices[2];
    mpi_request_get_status_some_f08_(count, requests, &done_count, indices, statuses, error);
    *flag = done_count == *count;
}

void mpi_request_get_status_any_f08_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index,
                                     MPI_Fint *flag, void *status, MPI_Fint *error) {
    MPI_Fint done_count = 0, indices[2] = {0, 0};
    mpi_request_get_status_some_f08_(count, requests, &done_count, indices, status, error);
    *index = indices[0];
    *flag = done_count > 0;
}

#else

enum { BOTH = 2, ROUNDS = 20 };

static int are_complete(const char *by, MPI_Fint *requests) {
    MPI_Fint count = BOTH, one = 1, done = 0, index = 0, indices[BOTH], error = -1;
    if (!strcmp(by, "all")) {
        mpi_request_get_status_all_f08_(&count, requests, &done, NULL, &error);
    } else if (!strcmp(by, "some")) {
        mpi_request_get_status_some_f08_(&count, requests, &done, indices, NULL, &error);
        done = done == BOTH;
    } else {
        mpi_request_get_status_any_f08_(&one, requests, &index, &done, NULL, &error);
        if (!done) return 0;
        mpi_request_get_status_any_f08_(&one, requests + 1, &index, &done, NULL, &error);
    }
    return done && error == MPI_SUCCESS;
}

int main(int argc, char **argv) {
    int rank = 0, ranks = 0, wrong = 0, blocks[64] = {0}, mine[BOTH];
    MPI_Request requests[BOTH];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < BOTH; ++i) {
        MPI_Scatter_init(blocks, 1, MPI_INT, &mine[i], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &requests[i]);
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (int r = 0; r < ranks; ++r) blocks[r] = 100 * round + r;
        mine[0] = mine[1] = -1;
        /* The root starts when all others have asked, so none of these has its block before. */
        if (rank == 0) {
            for (int r = 1; r < ranks; ++r)
                MPI_Recv(NULL, 0, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Startall(BOTH, requests);
        MPI_Fint asked[BOTH], kept[BOTH];
        for (int i = 0; i < BOTH; ++i) asked[i] = kept[i] = MPI_Request_c2f(requests[i]);
        int complete = are_complete(argv[1], asked);
        if (rank != 0) {
            wrong += complete;
            MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
        while (!complete) complete = are_complete(argv[1], asked);
        for (int i = 0; i < BOTH; ++i)
            wrong += mine[i] != 100 * round + rank || asked[i] != kept[i];
        for (int i = 0; i < BOTH; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("wrong: %d\n", wrong);
    MPI_Finalize();
    return 0;
}

#endif
