! SPDX-License-Identifier: BSD-3-Clause
!
! Exact sums and products for Fortran: what <lanewise/sum.h> says. Compile this file with the
! compiler of your program, since modules of different compilers do not fit, and link with
! -llanewise. The module `lanewise` of <lanewise/lanewise.f90> has these names as well.
!
!     use lanewise_sum
!     total = lw_sum(values)
!
!     type(lw_accumulator) :: energy
!     call energy%add(mine)
!     call energy%allreduce(MPI_COMM_WORLD)
!     total = energy%value()
!
! value_f32() gives the nearest real(c_float), which is not always that of value().
! lw_prod(values) and type(lw_product), to which `multiply` gives factors, are products.
!
! With the module mpi_f08 a communicator is passed as MPI_COMM_WORLD%MPI_VAL. Procedures of both
! types have an optional last argument `status`. Where it is given, it is set to 0 or to what
! failed, as <lanewise/status.h> numbers it; `value` is 0 then. Where it is not given, a failure
! stops the program with a line that names the procedure and the reason, as one of lw_sum and
! lw_prod does.

module lanewise_sum
    use, intrinsic :: iso_c_binding, only: c_double, c_float, c_double_complex, c_float_complex, &
        c_int, c_size_t, c_ptr, c_null_ptr, c_associated, c_char, c_f_pointer
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    private
    public :: lw_sum, lw_accumulator, lw_prod, lw_product

    interface
        function c_sum_f64(values, count, total) bind(c, name="lw_sum_f64") result(status)
            import :: c_double, c_size_t, c_int
            real(c_double), intent(in) :: values(*)
            integer(c_size_t), value :: count
            real(c_double), intent(out) :: total
            integer(c_int) :: status
        end function
        function c_sum_f32(values, count, total) bind(c, name="lw_sum_f32") result(status)
            import :: c_float, c_size_t, c_int
            real(c_float), intent(in) :: values(*)
            integer(c_size_t), value :: count
            real(c_float), intent(out) :: total
            integer(c_int) :: status
        end function
        function c_sum_c128(values, count, total) bind(c, name="lw_sum_c128") result(status)
            import :: c_double_complex, c_size_t, c_int
            complex(c_double_complex), intent(in) :: values(*)
            integer(c_size_t), value :: count
            complex(c_double_complex), intent(out) :: total
            integer(c_int) :: status
        end function
        function c_sum_c64(values, count, total) bind(c, name="lw_sum_c64") result(status)
            import :: c_float_complex, c_size_t, c_int
            complex(c_float_complex), intent(in) :: values(*)
            integer(c_size_t), value :: count
            complex(c_float_complex), intent(out) :: total
            integer(c_int) :: status
        end function
        function c_create(sum) bind(c, name="lw_accumulator_create") result(status)
            import :: c_ptr, c_int
            type(c_ptr), intent(inout) :: sum
            integer(c_int) :: status
        end function
        subroutine c_free(sum) bind(c, name="lw_accumulator_free")
            import :: c_ptr
            type(c_ptr), value :: sum
        end subroutine
        function c_add_f64(sum, values, count) bind(c, name="lw_accumulator_add_f64") &
                result(status)
            import :: c_ptr, c_double, c_size_t, c_int
            type(c_ptr), value :: sum
            real(c_double), intent(in) :: values(*)
            integer(c_size_t), value :: count
            integer(c_int) :: status
        end function
        function c_add_f32(sum, values, count) bind(c, name="lw_accumulator_add_f32") &
                result(status)
            import :: c_ptr, c_float, c_size_t, c_int
            type(c_ptr), value :: sum
            real(c_float), intent(in) :: values(*)
            integer(c_size_t), value :: count
            integer(c_int) :: status
        end function
        function c_merge(sum, other) bind(c, name="lw_accumulator_merge") result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: sum, other
            integer(c_int) :: status
        end function
        function c_allreduce(sum, comm) bind(c, name="lw_accumulator_allreduce_fortran") &
                result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: sum
            integer(c_int), value :: comm
            integer(c_int) :: status
        end function
        function c_value(sum, total) bind(c, name="lw_accumulator_f64") result(status)
            import :: c_ptr, c_double, c_int
            type(c_ptr), value :: sum
            real(c_double), intent(inout) :: total
            integer(c_int) :: status
        end function
        function c_value_f32(sum, total) bind(c, name="lw_accumulator_f32") result(status)
            import :: c_ptr, c_float, c_int
            type(c_ptr), value :: sum
            real(c_float), intent(inout) :: total
            integer(c_int) :: status
        end function
        function c_prod_f64(values, count, product) bind(c, name="lw_prod_f64") result(status)
            import :: c_double, c_size_t, c_int
            real(c_double), intent(in) :: values(*)
            integer(c_size_t), value :: count
            real(c_double), intent(out) :: product
            integer(c_int) :: status
        end function
        function c_prod_f32(values, count, product) bind(c, name="lw_prod_f32") result(status)
            import :: c_float, c_size_t, c_int
            real(c_float), intent(in) :: values(*)
            integer(c_size_t), value :: count
            real(c_float), intent(out) :: product
            integer(c_int) :: status
        end function
        function c_prod_c128(values, count, product) bind(c, name="lw_prod_c128") result(status)
            import :: c_double_complex, c_size_t, c_int
            complex(c_double_complex), intent(in) :: values(*)
            integer(c_size_t), value :: count
            complex(c_double_complex), intent(out) :: product
            integer(c_int) :: status
        end function
        function c_prod_c64(values, count, product) bind(c, name="lw_prod_c64") result(status)
            import :: c_float_complex, c_size_t, c_int
            complex(c_float_complex), intent(in) :: values(*)
            integer(c_size_t), value :: count
            complex(c_float_complex), intent(out) :: product
            integer(c_int) :: status
        end function
        function c_product_create(product) bind(c, name="lw_product_create") result(status)
            import :: c_ptr, c_int
            type(c_ptr), intent(inout) :: product
            integer(c_int) :: status
        end function
        subroutine c_product_free(product) bind(c, name="lw_product_free")
            import :: c_ptr
            type(c_ptr), value :: product
        end subroutine
        function c_multiply_f64(product, values, count) bind(c, name="lw_product_multiply_f64") &
                result(status)
            import :: c_ptr, c_double, c_size_t, c_int
            type(c_ptr), value :: product
            real(c_double), intent(in) :: values(*)
            integer(c_size_t), value :: count
            integer(c_int) :: status
        end function
        function c_multiply_f32(product, values, count) bind(c, name="lw_product_multiply_f32") &
                result(status)
            import :: c_ptr, c_float, c_size_t, c_int
            type(c_ptr), value :: product
            real(c_float), intent(in) :: values(*)
            integer(c_size_t), value :: count
            integer(c_int) :: status
        end function
        function c_product_merge(product, other) bind(c, name="lw_product_merge") result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: product, other
            integer(c_int) :: status
        end function
        function c_product_allreduce(product, comm) &
                bind(c, name="lw_product_allreduce_fortran") result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: product
            integer(c_int), value :: comm
            integer(c_int) :: status
        end function
        function c_product_value(product, nearest) bind(c, name="lw_product_f64") result(status)
            import :: c_ptr, c_double, c_int
            type(c_ptr), value :: product
            real(c_double), intent(inout) :: nearest
            integer(c_int) :: status
        end function
        function c_product_value_f32(product, nearest) bind(c, name="lw_product_f32") &
                result(status)
            import :: c_ptr, c_float, c_int
            type(c_ptr), value :: product
            real(c_float), intent(inout) :: nearest
            integer(c_int) :: status
        end function
        function c_status_text(status) bind(c, name="lw_status_text") result(text)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: text
        end function
        function c_strlen(text) bind(c, name="strlen") result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

    interface lw_sum
        module procedure sum_f64, sum_f32, sum_c128, sum_c64
    end interface

    interface lw_prod
        module procedure prod_f64, prod_f32, prod_c128, prod_c64
    end interface

    ! A sum that grows. It is not to be assigned to another one; merge adds one to another.
    type :: lw_accumulator
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure, private :: add_f64
        procedure, private :: add_f32
        procedure, private :: add_one
        generic :: add => add_f64, add_f32, add_one
        procedure :: merge => merge_with
        procedure :: allreduce
        procedure :: value
        procedure :: value_f32
        final :: destroy
    end type

    ! A product that grows, for which the same holds.
    type :: lw_product
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure, private :: multiply_f64
        procedure, private :: multiply_f32
        procedure, private :: multiply_one
        generic :: multiply => multiply_f64, multiply_f32, multiply_one
        procedure :: merge => merge_products
        procedure :: allreduce => allreduce_product
        procedure :: value => value_of_product
        procedure :: value_f32 => value_f32_of_product
        final :: destroy_product
    end type

contains

    ! Hand the status of C to who asked for it, or stop on a failure and say the reason.
    subroutine settle(code, what, status)
        integer(c_int), intent(in) :: code
        character(*), intent(in) :: what
        integer, intent(out), optional :: status
        type(c_ptr) :: reason
        character(kind=c_char), pointer :: letters(:)
        if (present(status)) status = code
        if (present(status) .or. code == 0) return
        reason = c_status_text(code)
        call c_f_pointer(reason, letters, [c_strlen(reason)])
        write (error_unit, "(*(a))") "lanewise: ", what, ": ", letters
        flush (error_unit)
        error stop 1
    end subroutine

    function sum_f64(values) result(total)
        real(c_double), intent(in), contiguous :: values(:)
        real(c_double) :: total
        call settle(c_sum_f64(values, size(values, kind=c_size_t), total), "lw_sum")
    end function

    function sum_f32(values) result(total)
        real(c_float), intent(in), contiguous :: values(:)
        real(c_float) :: total
        call settle(c_sum_f32(values, size(values, kind=c_size_t), total), "lw_sum")
    end function

    function sum_c128(values) result(total)
        complex(c_double_complex), intent(in), contiguous :: values(:)
        complex(c_double_complex) :: total
        call settle(c_sum_c128(values, size(values, kind=c_size_t), total), "lw_sum")
    end function

    function sum_c64(values) result(total)
        complex(c_float_complex), intent(in), contiguous :: values(:)
        complex(c_float_complex) :: total
        call settle(c_sum_c64(values, size(values, kind=c_size_t), total), "lw_sum")
    end function

    ! The status of making it where there is none yet.
    function prepared(self) result(code)
        class(lw_accumulator), intent(inout) :: self
        integer(c_int) :: code
        code = 0
        if (.not. c_associated(self%handle)) code = c_create(self%handle)
    end function

    subroutine add_f64(self, values, status)
        class(lw_accumulator), intent(inout) :: self
        real(c_double), intent(in), contiguous :: values(:)
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared(self)
        if (code == 0) code = c_add_f64(self%handle, values, size(values, kind=c_size_t))
        call settle(code, "lw_accumulator%add", status)
    end subroutine

    subroutine add_f32(self, values, status)
        class(lw_accumulator), intent(inout) :: self
        real(c_float), intent(in), contiguous :: values(:)
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared(self)
        if (code == 0) code = c_add_f32(self%handle, values, size(values, kind=c_size_t))
        call settle(code, "lw_accumulator%add", status)
    end subroutine

    subroutine add_one(self, number, status)
        class(lw_accumulator), intent(inout) :: self
        real(c_double), intent(in) :: number
        integer, intent(out), optional :: status
        call self%add_f64([number], status)
    end subroutine

    subroutine merge_with(self, other, status)
        class(lw_accumulator), intent(inout) :: self
        class(lw_accumulator), intent(inout) :: other
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared(self)
        if (code == 0) code = prepared(other)
        if (code == 0) code = c_merge(self%handle, other%handle)
        call settle(code, "lw_accumulator%merge", status)
    end subroutine

    subroutine allreduce(self, comm, status)
        class(lw_accumulator), intent(inout) :: self
        integer, intent(in) :: comm
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared(self)
        if (code == 0) code = c_allreduce(self%handle, int(comm, c_int))
        call settle(code, "lw_accumulator%allreduce", status)
    end subroutine

    function value(self, status) result(total)
        class(lw_accumulator), intent(inout) :: self
        real(c_double) :: total
        integer, intent(out), optional :: status
        integer(c_int) :: code
        total = 0
        code = prepared(self)
        if (code == 0) code = c_value(self%handle, total)
        call settle(code, "lw_accumulator%value", status)
    end function

    function value_f32(self, status) result(total)
        class(lw_accumulator), intent(inout) :: self
        real(c_float) :: total
        integer, intent(out), optional :: status
        integer(c_int) :: code
        total = 0
        code = prepared(self)
        if (code == 0) code = c_value_f32(self%handle, total)
        call settle(code, "lw_accumulator%value_f32", status)
    end function

    subroutine destroy(self)
        type(lw_accumulator), intent(inout) :: self
        if (c_associated(self%handle)) call c_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

    function prod_f64(values) result(nearest)
        real(c_double), intent(in), contiguous :: values(:)
        real(c_double) :: nearest
        call settle(c_prod_f64(values, size(values, kind=c_size_t), nearest), "lw_prod")
    end function

    function prod_f32(values) result(nearest)
        real(c_float), intent(in), contiguous :: values(:)
        real(c_float) :: nearest
        call settle(c_prod_f32(values, size(values, kind=c_size_t), nearest), "lw_prod")
    end function

    function prod_c128(values) result(nearest)
        complex(c_double_complex), intent(in), contiguous :: values(:)
        complex(c_double_complex) :: nearest
        call settle(c_prod_c128(values, size(values, kind=c_size_t), nearest), "lw_prod")
    end function

    function prod_c64(values) result(nearest)
        complex(c_float_complex), intent(in), contiguous :: values(:)
        complex(c_float_complex) :: nearest
        call settle(c_prod_c64(values, size(values, kind=c_size_t), nearest), "lw_prod")
    end function

    ! The status of making it where there is none yet.
    function prepared_product(self) result(code)
        class(lw_product), intent(inout) :: self
        integer(c_int) :: code
        code = 0
        if (.not. c_associated(self%handle)) code = c_product_create(self%handle)
    end function

    subroutine multiply_f64(self, values, status)
        class(lw_product), intent(inout) :: self
        real(c_double), intent(in), contiguous :: values(:)
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared_product(self)
        if (code == 0) code = c_multiply_f64(self%handle, values, size(values, kind=c_size_t))
        call settle(code, "lw_product%multiply", status)
    end subroutine

    subroutine multiply_f32(self, values, status)
        class(lw_product), intent(inout) :: self
        real(c_float), intent(in), contiguous :: values(:)
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared_product(self)
        if (code == 0) code = c_multiply_f32(self%handle, values, size(values, kind=c_size_t))
        call settle(code, "lw_product%multiply", status)
    end subroutine

    subroutine multiply_one(self, number, status)
        class(lw_product), intent(inout) :: self
        real(c_double), intent(in) :: number
        integer, intent(out), optional :: status
        call self%multiply_f64([number], status)
    end subroutine

    subroutine merge_products(self, other, status)
        class(lw_product), intent(inout) :: self
        class(lw_product), intent(inout) :: other
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared_product(self)
        if (code == 0) code = prepared_product(other)
        if (code == 0) code = c_product_merge(self%handle, other%handle)
        call settle(code, "lw_product%merge", status)
    end subroutine

    subroutine allreduce_product(self, comm, status)
        class(lw_product), intent(inout) :: self
        integer, intent(in) :: comm
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = prepared_product(self)
        if (code == 0) code = c_product_allreduce(self%handle, int(comm, c_int))
        call settle(code, "lw_product%allreduce", status)
    end subroutine

    function value_of_product(self, status) result(nearest)
        class(lw_product), intent(inout) :: self
        real(c_double) :: nearest
        integer, intent(out), optional :: status
        integer(c_int) :: code
        nearest = 0
        code = prepared_product(self)
        if (code == 0) code = c_product_value(self%handle, nearest)
        call settle(code, "lw_product%value", status)
    end function

    function value_f32_of_product(self, status) result(nearest)
        class(lw_product), intent(inout) :: self
        real(c_float) :: nearest
        integer, intent(out), optional :: status
        integer(c_int) :: code
        nearest = 0
        code = prepared_product(self)
        if (code == 0) code = c_product_value_f32(self%handle, nearest)
        call settle(code, "lw_product%value_f32", status)
    end function

    subroutine destroy_product(self)
        type(lw_product), intent(inout) :: self
        if (c_associated(self%handle)) call c_product_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

end module
