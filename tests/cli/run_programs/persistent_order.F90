! SPDX-License-Identifier: BSD-3-Clause
!
! Persistent reductions, beside a send and a receive that are persistent as well: started one by one
! and together, and waited for and tested in several ways. On five ranks; rank 0 prints "KIND N"
! where N elements of all ranks were not added as ((x0 + x1) + x2) + (x3 + x4), and at the end
! "checked N" with the number of starts. In Open MPI 4 the functions are an extension with other
! names.
#ifdef WITH_EXTENSION
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Reduce_init MPIX_Reduce_init
#endif
#ifdef WITH_MODULE
#define HANDLE(kind) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#else
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#endif
program persistent_order
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
    integer, parameter :: n = 5, rounds = 8, requests_count = 5
    double precision, parameter :: numbers(5) = [1d0, 1d16, -1d16, 3d0, 1d15]
    double precision, asynchronous :: mine(n), sums(n), parted(n), at_root(n)
    integer, asynchronous :: word, word_of_other
    integer :: me, error, starts, round, i
    HANDLE(MPI_Comm) :: part
    HANDLE(MPI_Request) :: requests(requests_count)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    starts = 0
    call MPI_Comm_dup(MPI_COMM_WORLD, part, error)
    call MPI_Send_init(word, 1, MPI_INTEGER, mod(me + 1, 5), 0, MPI_COMM_WORLD, requests(1), error)
    call MPI_Allreduce_init(mine, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, &
        MPI_INFO_NULL, requests(2), error)
    call MPI_Recv_init(word_of_other, 1, MPI_INTEGER, mod(me + 4, 5), 0, MPI_COMM_WORLD, &
        requests(3), error)
    call MPI_Allreduce_init(mine, parted, n, MPI_DOUBLE_PRECISION, MPI_SUM, part, MPI_INFO_NULL, &
        requests(4), error)
    call MPI_Reduce_init(mine, at_root, n, MPI_DOUBLE_PRECISION, MPI_SUM, 4, MPI_COMM_WORLD, &
        MPI_INFO_NULL, requests(5), error)
    do round = 1, rounds
        call give()
        call start_all()
        call wait_for_all()
        call compare("allreduce", sums)
        call compare("parted", parted)
        if (me /= 4) at_root = [(added(i), i = 1, n)]
        call compare("reduce", at_root)
        call count_wrong("receiving", merge(0, 1, word_of_other == 100 * round + mod(me + 4, 5)))
    end do
    do i = 1, requests_count
        call MPI_Request_free(requests(i), error)
        call count_wrong("freed", merge(0, 1, requests(i) == MPI_REQUEST_NULL))
    end do
    call MPI_Comm_free(part, error)
    if (me == 0) print "(a, i0)", "checked ", starts
    call MPI_Finalize(error)
contains
    subroutine give()
        do i = 1, n
            mine(i) = number(me, i)
        end do
        sums = 0
        parted = 0
        at_root = 0
        word = 100 * round + me
        word_of_other = -1
    end subroutine

    ! In another order on each rank.
    subroutine start_all()
        starts = starts + requests_count
        if (mod(round, 2) == 0) then
            call MPI_Startall(requests_count, requests, error)
            return
        end if
        do i = 1, requests_count
            call MPI_Start(requests(1 + mod(i + me, requests_count)), error)
        end do
    end subroutine

    subroutine wait_for_all()
        integer :: index, done, indices(requests_count), found
        logical :: flag
        STATUS :: status
        flag = .false.
        found = 0
        select case (mod(round, 4))
        case (0)
            call MPI_Waitall(requests_count, requests, MPI_STATUSES_IGNORE, error)
        case (1)
            do i = 1, requests_count
                flag = .false.
                do while (.not. flag)
                    ! Without a status Open MPI 4 never says that a request is complete.
                    call MPI_Request_get_status(requests(i), flag, status, error)
                end do
                call MPI_Wait(requests(i), MPI_STATUS_IGNORE, error)
            end do
        case (2)
            do
                call MPI_Waitany(requests_count, requests, index, MPI_STATUS_IGNORE, error)
                ! Where none is active, MPI_UNDEFINED; MPICH 4.0 adds 1 to it, or none to an index.
                if (index < 0) exit
                found = found + 1
            end do
            call count_wrong("waitany", requests_count - found)
        case default
            do
                call MPI_Testsome(requests_count, requests, done, indices, MPI_STATUSES_IGNORE, &
                    error)
                if (done == MPI_UNDEFINED) exit
                found = found + done
            end do
            call count_wrong("testsome", requests_count - found)
        end select
    end subroutine

    double precision function number(rank, i)
        integer, intent(in) :: rank, i
        number = numbers(1 + mod(rank + i + round, 5))
    end function

    double precision function added(i)
        integer, intent(in) :: i
        double precision :: first, last
        first = number(0, i) + number(1, i)
        first = first + number(2, i)
        last = number(3, i) + number(4, i)
        added = first + last
    end function

    subroutine compare(name, found)
        character(*), intent(in) :: name
        double precision, intent(in) :: found(n)
        integer :: e
        call count_wrong(name, count(found /= [(added(e), e = 1, n)]))
    end subroutine

    subroutine count_wrong(name, wrong)
        character(*), intent(in) :: name
        integer, intent(in) :: wrong
        integer :: in_all
        call MPI_Reduce(wrong, in_all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
        if (me == 0 .and. in_all > 0) print "(a, ' ', i0)", name, in_all
    end subroutine
end program
