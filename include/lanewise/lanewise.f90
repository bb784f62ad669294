! SPDX-License-Identifier: BSD-3-Clause
!
! Lanewise for Fortran: the module `lanewise` has all that the other files have. A program compiles
! this one file with its own compiler, since modules of different compilers do not fit:
!
!     mpif90 PREFIX/include/lanewise/lanewise.f90 program.f90 -LPREFIX/lib -llanewise
!
! It needs Fortran 2018, and an MPI that has the module mpi_f08.

include "status.f90"
include "sum.f90"
include "collectives.f90"
include "measure.f90"

module lanewise
    use lanewise_status
    use lanewise_sum
    use lanewise_collectives
    use lanewise_measure
    implicit none
    public
end module
