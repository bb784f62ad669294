! SPDX-License-Identifier: BSD-3-Clause
!
! Sums and products by the module lanewise_sum: of an array on every rank, and of what all ranks
! have.
program exact_sums
    use mpi
    use lanewise_sum
    implicit none
    integer, parameter :: count = 1000
    real(8) :: values(count), factors(count)
    type(lw_accumulator) :: total, halves(2), above_half
    type(lw_product) :: weight, parts(2), above_half_too
    integer :: rank, ranks, i, error

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    do i = 1, count
        values(i) = (mod(i * 7919, 1009) - 504) * 2.0d0**(mod(i * 37, 120) - 60)
        factors(i) = (mod(i * 7919, 1009) + 1008) * 2.0d0**(mod(i * 37, 120) - 70)
    end do
    do i = 1, count
        if (mod(i, ranks) == rank) call halves(1 + mod(i, 2))%add(values(i:i))
        if (mod(i, ranks) == rank) call parts(1 + mod(i, 2))%multiply(factors(i:i))
    end do
    call total%merge(halves(1))
    call total%merge(halves(2))
    call total%allreduce(MPI_COMM_WORLD)
    call weight%merge(parts(1))
    call weight%merge(parts(2))
    call weight%allreduce(MPI_COMM_WORLD)
    if (rank == 0) then
        print "(z16.16)", lw_sum(values)
        print "(z16.16)", total%value()
        print "(z8.8)", lw_sum(real(values, 4))
        print "(2z16.16)", lw_sum(cmplx(values, -values, 8))
        print "(z16.16)", lw_prod(factors)
        print "(z16.16)", weight%value()
        ! A little above the middle between two floats, which the nearest double is.
        call above_half%add([1.0d0, 2.0d0**(-24), 2.0d0**(-60)])
        call above_half_too%multiply([1 + 2.0d0**(-24), 1 + 2.0d0**(-20), &
            1 - 2.0d0**(-20) + 2.0d0**(-40)])
        print "(2z8.8)", above_half%value_f32(), above_half_too%value_f32()
        print "(2z16.16)", lw_prod(cmplx(values(1:9), factors(1:9), 8))
        print "(2z8.8)", lw_prod([(cmplx(1000 + i, 1, 4), i = 1, 9)])
    end if
    call MPI_Finalize(error)
end program
