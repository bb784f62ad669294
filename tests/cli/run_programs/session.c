/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI 4: collectives in a session, with neither MPI_Init nor MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank = 0, ranks = 0, value = 0, all[64];
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "lanewise", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < ranks; ++i) all[i] = 2 * i;
    MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, 0, comm);
    int wrong = value != 2 * rank;
    MPI_Bcast(&value, 1, MPI_INT, ranks - 1, comm);
    wrong += value != 2 * (ranks - 1);
    if (rank == 0 && !wrong) printf("all right\n");
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return wrong;
}
