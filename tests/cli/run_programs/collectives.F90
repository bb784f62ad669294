! SPDX-License-Identifier: BSD-3-Clause
!
! The same in Fortran, for each of the three ways to MPI: -DWITH_HEADER (mpif.h),
! -DWITH_MODULE (use mpi) and -DWITH_F08 (use mpi_f08).
#ifdef WITH_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
program collectives
#ifdef WITH_MODULE
    use mpi
#endif
#ifdef WITH_F08
    use mpi_f08
#endif
    implicit none
#ifdef WITH_HEADER
    include 'mpif.h'
#endif
    integer :: rank, ranks, root, error, sent, wrong, worst, i
    integer :: everything(0:63), received(0:63), mine(2), grid(3, 4)
    integer(kind=MPI_ADDRESS_KIND) :: place, far(1)
    integer :: ones(0:63), twos(0:63), threes(0:63)
    HANDLE(MPI_Datatype) :: column, there, types(0:63)
    HANDLE(MPI_Comm) :: half, ring
    HANDLE(MPI_Request) :: request(3)
    integer :: word, total, one, before
    asynchronous :: everything, mine, word, total, one

    wrong = 0
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)

    do root = 0, ranks - 1
        sent = 0
        if (rank == root) sent = 2
        everything = [(3 * i + root, i = 0, 63)]
        call MPI_Scatter(everything, sent, MPI_INTEGER, mine, 2, MPI_INTEGER, root, &
                         MPI_COMM_WORLD, error)
        call expect(mine(2), 3 * (2 * rank + 1) + root, 'scatter')

        mine = 100 + rank
        received = 0
        received(2 * root:2 * root + 1) = 100 + root
        if (rank == root) then
            call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, received, 2, MPI_INTEGER, root, &
                            MPI_COMM_WORLD, error)
            call expect(received(2 * ranks - 1), 99 + ranks, 'gather in place')
        else
            call MPI_Gather(mine, 2, MPI_INTEGER, received, 0, MPI_INTEGER, root, &
                            MPI_COMM_WORLD, error)
        end if

        ! Where the data lies is in the type, so the buffer is MPI_BOTTOM.
        mine = -1
        if (rank == root) mine = [root, 2 * root]
        call MPI_Get_address(mine, place, error)
        call MPI_Type_create_hindexed(1, [2], [place], MPI_INTEGER, there, error)
        call MPI_Type_commit(there, error)
        call MPI_Bcast(MPI_BOTTOM, 1, there, root, MPI_COMM_WORLD, error)
        call MPI_Type_free(there, error)
        call keep(mine)
        call expect(mine(2), 2 * root, 'bcast from the bottom')
    end do

    do root = 0, ranks - 1
        everything = [(3 * i + root, i = 0, 63)]
        mine = -1
        word = -1
        if (rank == root) word = 70 + root
        one = 1
        total = 0
        call MPI_Iscatter(everything, 2, MPI_INTEGER, mine, 2, MPI_INTEGER, root, &
                          MPI_COMM_WORLD, request(1), error)
        call MPI_Ibcast(word, 1, MPI_INTEGER, root, MPI_COMM_WORLD, request(2), error)
        call MPI_Iallreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(3), error)
        call MPI_Waitall(3, request, MPI_STATUSES_IGNORE, error)
        call keep(mine)
        call expect(mine(2), 3 * (2 * rank + 1) + root, 'iscatter')
        call expect(word, 70 + root, 'ibcast')
        call expect(total, ranks, 'iallreduce')
        call MPI_Ibarrier(MPI_COMM_WORLD, request(1), error)
        call MPI_Wait(request(1), MPI_STATUS_IGNORE, error)
    end do

    grid = -1
    if (rank == 0) grid = reshape([(i, i = 1, 12)], [3, 4])
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER, column, error)
    call MPI_Type_commit(column, error)
    call MPI_Bcast(grid, 1, column, 0, MPI_COMM_WORLD, error)
    call expect(grid(1, 4), 10, 'bcast of a derived type')
    call MPI_Type_free(column, error)

    received(rank) = 5 * rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, received, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(received(ranks - 1), 5 * (ranks - 1), 'allgather in place')
    everything = [(10 * rank + i, i = 0, 63)]
    call MPI_Alltoall(everything, 1, MPI_INTEGER, received, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call expect(received(ranks - 1), 10 * (ranks - 1) + rank, 'alltoall')
    ones = 1
    twos = [(2 * i, i = 0, 63)]
    threes = [(3 * i, i = 0, 63)]
    types = MPI_INTEGER
    call MPI_Alltoallv(everything, ones, twos, MPI_INTEGER, received, ones, threes, MPI_INTEGER, &
                       MPI_COMM_WORLD, error)
    call expect(received(3 * (ranks - 1)), 10 * (ranks - 1) + 2 * rank, 'alltoallv')
    received = -1
    call MPI_Alltoallw(everything, ones, 4 * twos, types, received, ones, 4 * threes, types, &
                       MPI_COMM_WORLD, error)
    call expect(received(3 * (ranks - 1)), 10 * (ranks - 1) + 2 * rank, 'alltoallw')

    ! MPICH 4.0 fails in MPI_Neighbor_alltoallw of use mpi_f08 on a Cartesian grid.
    before = modulo(rank - 1, ranks)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, &
                                        1, [modulo(rank + 1, ranks)], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring, error)
    received = -1
    call MPI_Neighbor_allgather(everything, 1, MPI_INTEGER, received, 1, MPI_INTEGER, ring, error)
    call expect(received(0), 10 * before, 'neighbor_allgather')
    far = 8
    call MPI_Neighbor_alltoallw(everything, ones, far, types, received, ones, far, types, ring, &
                                error)
    call expect(received(2), 10 * before + 2, 'neighbor_alltoallw')
    call MPI_Comm_free(ring, error)

    mine = rank
    call MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(mine(1), ranks * (ranks - 1) / 2, 'allreduce in place')

    mine = rank
    call MPI_Scan(MPI_IN_PLACE, mine, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call expect(mine(2), rank * (rank + 1) / 2, 'scan in place')
    everything = 1
    call MPI_Exscan(everything, mine, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank > 0) call expect(mine(2), rank, 'exscan')

    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
    mine = rank
    call MPI_Bcast(mine, 2, MPI_INTEGER, 0, half, error)
    call expect(mine(1), mod(rank, 2), 'bcast in a half')
    call MPI_Comm_free(half, error)
#ifdef WITH_F08
    call MPI_Barrier(MPI_COMM_WORLD)
#else
    call MPI_Barrier(MPI_COMM_WORLD, error)
#endif
    call expect(error, MPI_SUCCESS, 'the error code')

    call MPI_Reduce(wrong, worst, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, error)
    if (rank == 0 .and. worst == 0) print '(a)', 'all right'
    call MPI_Finalize(error)
    if (wrong /= 0) stop 1

contains

    subroutine expect(value, wanted, what)
        integer, intent(in) :: value, wanted
        character(*), intent(in) :: what
        if (value == wanted) return
        wrong = wrong + 1
        print *, 'rank', rank, what, value, 'not', wanted
    end subroutine expect

    ! What MPI wrote behind the compiler's back is read again.
    subroutine keep(values)
        integer, intent(inout), volatile :: values(2)
        values(1) = values(1)
    end subroutine keep
end program collectives
