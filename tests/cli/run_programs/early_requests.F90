! SPDX-License-Identifier: BSD-3-Clause
!
! Nonblocking reductions that are the first call on their communicator, and one by an operator of the
! program that is freed before it ends. On three ranks; rank 0 prints "KIND N" where N elements of
! all ranks were not added as (x0 + x1) + x2, and at the end "checked N" with the number of calls.
#ifdef WITH_MODULE
#define HANDLE(kind) integer
#else
#define HANDLE(kind) type(kind)
#endif
module operators
contains
#ifdef WITH_MODULE
    subroutine join(in, inout, length, datatype)
        integer :: length, datatype
        double precision :: in(length), inout(length)
        inout = in / 3 + inout
    end subroutine
#else
    subroutine join(in, inout, length, datatype)
        use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
        use mpi_f08
        type(c_ptr), value :: in, inout
        integer :: length
        type(MPI_Datatype) :: datatype
        double precision, pointer :: left(:), right(:)
        call c_f_pointer(in, left, [length])
        call c_f_pointer(inout, right, [length])
        right = left / 3 + right
    end subroutine
#endif
end module

program early_requests
#ifdef WITH_MODULE
    use mpi
#else
    use mpi_f08
#endif
    use operators
    implicit none
    integer, parameter :: n = 3
    double precision, parameter :: numbers(3) = [1d0, 1d16, -1d16]
    double precision, asynchronous :: mine(n), sums(n)
    integer :: me, error, calls, i
    HANDLE(MPI_Comm) :: made, line
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Op) :: op
#ifdef IDUP_IS_SERVED
    HANDLE(MPI_Request) :: request
#endif

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    do i = 1, n
        mine(i) = number(me, i)
    end do
    calls = 0

    call add_first("world", MPI_COMM_WORLD)
    call MPI_Comm_dup(MPI_COMM_WORLD, made, error)
    call add_on("dup", made)
#ifdef IDUP_IS_SERVED
    call MPI_Comm_idup(MPI_COMM_WORLD, made, request, error)
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call add_on("idup", made)
#endif
    call MPI_Comm_split(MPI_COMM_WORLD, 0, me, made, error)
    call add_on("split", made)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, made, error)
    call add_on("split_type", made)
    call MPI_Comm_group(MPI_COMM_WORLD, group, error)
    call MPI_Comm_create(MPI_COMM_WORLD, group, made, error)
    call add_on("create", made)
    call MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, made, error)
    call add_on("create_group", made)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [3], [.true.], .false., line, error)
    call add_first("cart_create", line)
    call MPI_Cart_sub(line, [.true.], made, error)
    call add_on("cart_sub", made)

    call MPI_Op_create(join, .false., op, error)
    call reduce_first("freed", MPI_COMM_WORLD)
    if (me == 0) print "(a, i0)", "checked ", calls
    call MPI_Finalize(error)
contains
    subroutine add_on(name, comm)
        character(*), intent(in) :: name
        HANDLE(MPI_Comm), intent(inout) :: comm
        call add_first(name, comm)
        call MPI_Comm_free(comm, error)
    end subroutine

    subroutine add_first(name, comm)
        character(*), intent(in) :: name
        HANDLE(MPI_Comm), intent(in) :: comm
        HANDLE(MPI_Request) :: request
        call MPI_Iallreduce(mine, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, comm, request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call compare(name, [(added(i), i = 1, n)])
    end subroutine

    subroutine reduce_first(name, comm)
        character(*), intent(in) :: name
        HANDLE(MPI_Comm), intent(in) :: comm
        HANDLE(MPI_Request) :: request
        call MPI_Iallreduce(mine, sums, n, MPI_DOUBLE_PRECISION, op, comm, request, error)
        call MPI_Op_free(op, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call compare(name, [(joined(i), i = 1, n)])
    end subroutine

    double precision function number(rank, i)
        integer, intent(in) :: rank, i
        number = numbers(1 + mod(rank + i, 3))
    end function

    double precision function added(i)
        integer, intent(in) :: i
        added = number(0, i) + number(1, i)
        added = added + number(2, i)
    end function

    double precision function joined(i)
        integer, intent(in) :: i
        joined = number(0, i) / 3 + number(1, i)
        joined = joined / 3 + number(2, i)
    end function

    subroutine compare(name, expected)
        character(*), intent(in) :: name
        double precision, intent(in) :: expected(n)
        integer :: wrong, in_all
        wrong = count(sums /= expected)
        call MPI_Reduce(wrong, in_all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
        calls = calls + 1
        if (me == 0 .and. in_all > 0) print "(a, ' ', i0)", name, in_all
    end subroutine
end program
