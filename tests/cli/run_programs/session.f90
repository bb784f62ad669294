! SPDX-License-Identifier: BSD-3-Clause
! MPI 4: collectives in a session, with neither MPI_Init nor MPI_COMM_WORLD.
program session_program
    use mpi_f08
    implicit none
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request
    integer :: rank, ranks, value, wrong, i, all(64)
    real(8) :: mine, sum

    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'lanewise', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm)
    call MPI_Comm_rank(comm, rank)
    call MPI_Comm_size(comm, ranks)
    mine = rank + 1
    call MPI_Ireduce(mine, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    wrong = 0
    if (rank == 0 .and. nint(sum) /= ranks * (ranks + 1) / 2) wrong = 1
    all = [(2 * i, i = 0, 63)]
    call MPI_Scatter(all, 1, MPI_INTEGER, value, 1, MPI_INTEGER, 0, comm)
    if (value /= 2 * rank) wrong = wrong + 1
    call MPI_Bcast(value, 1, MPI_INTEGER, ranks - 1, comm)
    if (value /= 2 * (ranks - 1)) wrong = wrong + 1
    if (rank == 0 .and. wrong == 0) print '(a)', 'all right'
    call MPI_Comm_free(comm)
    call MPI_Group_free(group)
    call MPI_Session_finalize(session)
    if (wrong /= 0) error stop 1
end program
