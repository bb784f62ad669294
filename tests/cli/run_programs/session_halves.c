// SPDX-License-Identifier: BSD-3-Clause
//
// A program without MPI_COMM_WORLD whose first collectives are on two communicators: 100 on that of
// the even ranks and 300 on that of the odd ones. With an argument, the even ranks make none.

#include <mpi.h>

enum { of_even_ranks = 100, of_odd_ranks = 300 };

int main(int argc, char **argv) {
    (void)argv;
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group group;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm all, half;
    MPI_Comm_create_from_group(group, "halves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    int rank = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_split(all, rank % 2, rank, &half);
    const int calls = rank % 2 == 1 ? of_odd_ranks : argc > 1 ? 0 : of_even_ranks;
    for (int call = 0; call < calls; ++call) {
        double one = 1.0, sum = 0.0;
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
    }
    if (argc == 1) MPI_Barrier(all);
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return 0;
}
