! SPDX-License-Identifier: BSD-3-Clause
!
! Measures the MPI's broadcast of 64 KiB on all ranks, then makes one by an algorithm of Lanewise.
!
!     mpif90 PREFIX/include/lanewise/lanewise.f90 measure_bcast.f90 -o measure_bcast \
!         -LPREFIX/lib -llanewise
!     mpirun -n 4 ./measure_bcast
program measure_bcast
    use, intrinsic :: iso_c_binding, only: c_int64_t
    use mpi_f08
    use lanewise
    implicit none
    type(lw_operation) :: bcast
    type(lw_measure_options) :: options
    type(lw_samples) :: samples
    type(lw_point) :: point
    type(lw_algorithm) :: binomial
    real(8) :: values(8192)
    integer :: rank

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)

    call lw_operation_named("bcast", bcast)
    call lw_measure(MPI_COMM_WORLD, bcast, 0, [65536_c_int64_t], options, samples)
    if (rank == 0) then
        point = samples%point(1)
        print "(a, i0, a, 3(f0.2, a), i0, a)", "bcast of ", point%message_bytes, " bytes: ", &
            1e6 * point%median_s, " us (", 1e6 * point%low_s, " to ", 1e6 * point%high_s, ", ", &
            point%repetitions, " repetitions)"
    end if

    values = merge(1.5d0, 0.0d0, rank == 0)
    call lw_algorithm_named("bcast", "binomial", binomial)
    call lw_bcast(values, size(values), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, binomial)
    print "(a, i0, a, f0.1)", "rank ", rank, " received the sum ", lw_sum(values)

    call MPI_Finalize()
end program
