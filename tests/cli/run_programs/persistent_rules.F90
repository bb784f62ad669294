! SPDX-License-Identifier: BSD-3-Clause
!
! Persistent collectives that move and add whole numbers, started one by one and together with other
! data in each round. Rank 0 prints "all right", or every rank says what is not. In Open MPI 4 the
! functions are an extension with other names.
#ifdef WITH_EXTENSION
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Scan_init MPIX_Scan_init
#endif
#ifdef WITH_MODULE
#define HANDLE(kind) integer
#else
#define HANDLE(kind) type(kind)
#endif
program persistent_rules
#ifdef WITH_MODULE
    use mpi
#ifdef WITH_EXTENSION
    use mpi_ext
#endif
#else
    use mpi_f08
#ifdef WITH_EXTENSION
    use mpi_f08_ext
#endif
#endif
    implicit none
    integer, parameter :: rounds = 4, requests_count = 6
    integer, asynchronous :: broadcast, part, mine, total, before
    integer, asynchronous, allocatable :: parts(:), gathered(:)
    integer :: me, ranks, error, round, i, wrong, wrong_in_all
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Request) :: requests(requests_count)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    allocate(parts(ranks), gathered(ranks))
    wrong = 0
    call MPI_Barrier_init(comm, MPI_INFO_NULL, requests(1), error)
    call MPI_Bcast_init(broadcast, 1, MPI_INTEGER, 0, comm, MPI_INFO_NULL, requests(2), error)
    call MPI_Scatter_init(parts, 1, MPI_INTEGER, part, 1, MPI_INTEGER, ranks - 1, comm, &
        MPI_INFO_NULL, requests(3), error)
    call MPI_Allgather_init(mine, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, comm, MPI_INFO_NULL, &
        requests(4), error)
    total = -1
    call MPI_Allreduce_init(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, &
        requests(5), error)
    call MPI_Scan_init(mine, before, 1, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, requests(6), &
        error)
    do round = 1, rounds
        broadcast = merge(7 + round, -1, me == 0)
        parts = [(10 * round + i, i = 0, ranks - 1)]
        part = -1
        mine = 10 * round + me
        gathered = -1
        total = mine
        before = -1
        if (mod(round, 2) == 0) then
            call MPI_Startall(requests_count, requests, error)
        else
            do i = 1, requests_count
                call MPI_Start(requests(i), error)
            end do
        end if
        call MPI_Waitall(requests_count, requests, MPI_STATUSES_IGNORE, error)
        call expect("bcast", broadcast, 7 + round)
        call expect("scatter", part, 10 * round + me)
        call expect("allgather", count(gathered == parts), ranks)
        call expect("allreduce", total, sum(parts))
        call expect("scan", before, sum(parts(1:me + 1)))
    end do
    do i = 1, requests_count
        call MPI_Request_free(requests(i), error)
    end do
    call MPI_Comm_free(comm, error)
    call MPI_Reduce(wrong, wrong_in_all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    if (me == 0 .and. wrong_in_all == 0) print "(a)", "all right"
    call MPI_Finalize(error)
contains
    subroutine expect(name, found, wanted)
        character(*), intent(in) :: name
        integer, intent(in) :: found, wanted
        if (found == wanted) return
        wrong = wrong + 1
        print "(a, ' in round ', i0, ': ', i0, ', not ', i0)", name, round, found, wanted
    end subroutine
end program
