! SPDX-License-Identifier: BSD-3-Clause
!
! Every collective of the module lanewise beside that of the MPI, on the same data. Prints the name
! of each, and whether all ranks have what the MPI gave them. Then the same of buffers that count on
! the root only and have gaps elsewhere, and of MPI_BOTTOM; and what becomes of what is refused.
program fortran_collectives
    use, intrinsic :: iso_c_binding, only: c_int64_t
#ifdef WITH_MODULE
    use mpi
    use mpi_f08, only: comm_f08 => MPI_Comm, type_f08 => MPI_Datatype, op_f08 => MPI_Op
#else
    use mpi_f08, comm_f08 => MPI_Comm, type_f08 => MPI_Datatype, op_f08 => MPI_Op
#endif
    use lanewise
    implicit none
    integer, parameter :: n = 3
    integer :: ranks, me, error, i, root, status
    integer, allocatable, asynchronous :: mine(:), all(:), ours(:), theirs(:)
    integer, allocatable :: counts(:), displacements(:)
    integer :: grid(2, n)
    type(comm_f08) :: world
    type(type_f08) :: integers
    type(op_f08) :: add
    type(lw_algorithm) :: a
    type(lw_pending) :: pending

    call MPI_Init(error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
#ifdef WITH_MODULE
    world = comm_f08(MPI_COMM_WORLD)
    integers = type_f08(MPI_INTEGER)
    add = op_f08(MPI_SUM)
#else
    world = MPI_COMM_WORLD
    integers = MPI_INTEGER
    add = MPI_SUM
#endif
    root = ranks - 1
    allocate (counts(ranks), displacements(ranks))
    counts = [(1 + mod(i, 2), i = 1, ranks)]
    displacements = [(2 * (i - 1), i = 1, ranks)]
    mine = [(100 * me + i, i = 1, n)]
    all = [(1000 * me + i, i = 1, n * ranks)]
    allocate (ours(n * ranks), theirs(n * ranks))

    call choose("barrier", "dissemination")
    call lw_barrier(world, a)
    call lw_ibarrier(world, a, pending)
    call finish("barrier")

    call choose("bcast", "binomial")
    ours = all
    theirs = all
    call lw_bcast(ours, n, integers, root, world, a)
    call MPI_Bcast(theirs, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call compare("bcast")
    ours = all
    call lw_ibcast(ours, n, integers, root, world, a, pending)
    call finish("ibcast")

    call choose("scatter", "binomial")
    call lw_scatter(all, n, integers, ours, n, integers, root, world, a)
    call MPI_Scatter(all, n, MPI_INTEGER, theirs, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call compare("scatter")
    call lw_iscatter(all, n, integers, ours, n, integers, root, world, a, pending)
    call finish("iscatter")

    call choose("scatterv", "linear")
    call lw_scatterv(all, counts, displacements, integers, ours, counts(me + 1), integers, root, &
        world, a)
    call MPI_Scatterv(all, counts, displacements, MPI_INTEGER, theirs, counts(me + 1), &
        MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call compare("scatterv")

    call choose("gather", "binomial")
    call lw_gather(mine, n, integers, ours, n, integers, root, world, a)
    call MPI_Gather(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call compare("gather")
    call lw_igather(mine, n, integers, ours, n, integers, root, world, a, pending)
    call finish("igather")

    call choose("gatherv", "linear")
    call lw_gatherv(mine, counts(me + 1), integers, ours, counts, displacements, integers, root, &
        world, a)
    call MPI_Gatherv(mine, counts(me + 1), MPI_INTEGER, theirs, counts, displacements, &
        MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call compare("gatherv")

    call choose("allgather", "ring")
    call lw_allgather(mine, n, integers, ours, n, integers, world, a)
    call MPI_Allgather(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER, MPI_COMM_WORLD, error)
    call compare("allgather")
    call lw_iallgather(mine, n, integers, ours, n, integers, world, a, pending)
    call finish("iallgather")

    call choose("allgatherv", "ring")
    call lw_allgatherv(mine, counts(me + 1), integers, ours, counts, displacements, integers, &
        world, a)
    call MPI_Allgatherv(mine, counts(me + 1), MPI_INTEGER, theirs, counts, displacements, &
        MPI_INTEGER, MPI_COMM_WORLD, error)
    call compare("allgatherv")

    call choose("alltoall", "pairwise")
    call lw_alltoall(all, n, integers, ours, n, integers, world, a)
    call MPI_Alltoall(all, n, MPI_INTEGER, theirs, n, MPI_INTEGER, MPI_COMM_WORLD, error)
    call compare("alltoall")
    call lw_ialltoall(all, n, integers, ours, n, integers, world, a, pending)
    call finish("ialltoall")

    call choose("reduce", "binomial")
    call lw_reduce(all, ours, n, integers, add, root, world, a)
    call MPI_Reduce(all, theirs, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, error)
    call compare("reduce")
    call lw_ireduce(all, ours, n, integers, add, root, world, a, pending)
    call finish("ireduce")

    call choose("allreduce", "recursive_doubling")
    call lw_allreduce(all, ours, n, integers, add, world, a)
    call MPI_Allreduce(all, theirs, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare("allreduce")
    call lw_iallreduce(all, ours, n, integers, add, world, a, pending)
    call finish("iallreduce")
    ours = all
    theirs = all
    call lw_allreduce(MPI_IN_PLACE, ours, n, integers, add, world, a)
    call MPI_Allreduce(MPI_IN_PLACE, theirs, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare("in place")

    call choose("reduce_scatter", "ring")
    call lw_reduce_scatter(all, ours, counts, integers, add, world, a)
    call MPI_Reduce_scatter(all, theirs, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare("reduce_scatter")

    call choose("scan", "recursive_doubling")
    call lw_scan(all, ours, n, integers, add, world, a)
    call MPI_Scan(all, theirs, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare("scan")
    call lw_iscan(all, ours, n, integers, add, world, a, pending)
    call finish("iscan")

    call choose("exscan", "binomial")
    call lw_exscan(all, ours, n, integers, add, world, a)
    call MPI_Exscan(all, theirs, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call compare("exscan")
    call lw_iexscan(all, ours, n, integers, add, world, a, pending)
    call finish("iexscan")

    call leave_gaps_elsewhere()
    call begin_at_the_bottom()
    call refuse()
    call MPI_Finalize(error)

contains

    subroutine choose(collective, name)
        character(*), intent(in) :: collective, name
        call lw_algorithm_named(collective, name, a)
        ours = -1
        theirs = -1
    end subroutine

    subroutine compare(what)
        character(*), intent(in) :: what
        logical :: same, everywhere
        same = all_equal()
        call MPI_Allreduce(same, everywhere, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
        if (me == 0) print "(a, 1x, l1)", what, everywhere
        ours = -1
    end subroutine

    function all_equal() result(same)
        logical :: same
        same = .not. any(ours /= theirs)
    end function

    subroutine finish(what)
        character(*), intent(in) :: what
        do while (.not. pending%test())
        end do
        call pending%wait(status)
        if (status /= LW_OK) error stop "a call in flight failed"
        call compare(what)
    end subroutine

    subroutine leave_gaps_elsewhere()
        call choose("scatter", "linear")
        if (me == root) then
            call lw_scatter(all, n, integers, ours, n, integers, root, world, a)
        else
            call lw_scatter(grid(1, :), n, integers, ours, n, integers, root, world, a)
        end if
        call MPI_Scatter(all, n, MPI_INTEGER, theirs, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
        call compare("scatter of gaps")

        call choose("gather", "binomial")
        if (me == root) then
            call lw_gather(mine, n, integers, ours, n, integers, root, world, a)
        else
            call lw_gather(mine, n, integers, grid(1, :), n, integers, root, world, a)
        end if
        call MPI_Gather(mine, n, MPI_INTEGER, theirs, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
        call compare("gather of gaps")

        call choose("reduce", "binomial")
        if (me == root) then
            call lw_ireduce(all, ours, n, integers, add, root, world, a, pending)
        else
            call lw_ireduce(all, grid(1, :), n, integers, add, root, world, a, pending)
        end if
        call MPI_Reduce(all, theirs, n, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, error)
        call finish("ireduce of gaps")
    end subroutine

    ! The datatype says where the buffer is.
    subroutine begin_at_the_bottom()
        integer(MPI_ADDRESS_KIND) :: place(1)
#ifdef WITH_MODULE
        integer :: made
#else
        type(type_f08) :: made
#endif
        type(type_f08) :: placed
        call choose("bcast", "binomial")
        ours = all
        theirs = all
        call MPI_Get_address(ours(1), place(1), error)
        call MPI_Type_create_hindexed(1, [n], place, MPI_INTEGER, made, error)
        call MPI_Type_commit(made, error)
#ifdef WITH_MODULE
        placed = type_f08(made)
#else
        placed = made
#endif
        call lw_bcast(MPI_BOTTOM, 1, placed, root, world, a)
        call MPI_Bcast(theirs, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
        call MPI_Type_free(made, error)
        call compare("bottom")
    end subroutine

    ! What cannot be served is told to who asks.
    subroutine refuse()
        type(lw_algorithm) :: none
        call lw_algorithm_named("bcast", "no such", none, status=status)
        if (me == 0) print "(a, 1x, a)", "no such:", lw_status_text(status)
        call lw_algorithm_named("bcast", "linear", a, segment_bytes=8_c_int64_t)
        call lw_bcast(grid(1, :), n, integers, root, world, a, status)
        if (me == 0) print "(a, 1x, l1)", "with gaps:", status == LW_ERR_ARGUMENT
        call lw_ibcast(grid(1, :), n, integers, root, world, a, pending, status)
        do while (.not. pending%test(status))
        end do
        if (me == 0) print "(a, 1x, l1)", "not begun:", status == LW_ERR_ARGUMENT
        call pending%wait(status)
        if (me == 0) print "(a, 1x, l1)", "not waited for:", status == LW_ERR_ARGUMENT
    end subroutine
end program
