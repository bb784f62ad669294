! SPDX-License-Identifier: BSD-3-Clause
!
! Measure for Fortran: what <lanewise/measure.h>, operation.h and samples.h say.
!
!     type(lw_measure_options) :: options     ! with the defaults of LW_MEASURE_OPTIONS
!     type(lw_operation) :: bcast
!     type(lw_samples) :: samples
!     call lw_operation_named("bcast", bcast)
!     call lw_measure(MPI_COMM_WORLD, bcast, 0, [8_c_int64_t, 65536_c_int64_t], options, samples)
!     median_s = samples%median(1)
!
! Points are counted from 1. Times are in seconds, sizes in bytes. The communicator is that of
! mpi_f08; a program with `use mpi` imports comm_f08 => MPI_Comm from mpi_f08 and passes
! comm_f08(comm). Procedures that can fail have the optional `status` of <lanewise/status.f90>.

module lanewise_measure
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_funloc, &
        c_funptr, c_int, c_int32_t, c_int64_t, c_loc, c_null_char, c_null_funptr, c_null_ptr, &
        c_ptr, c_size_t, c_sizeof
    use mpi_f08, only: MPI_Comm
    use lanewise_status, only: lw_failure, lw_keep_sentence, lw_settle, lw_text, LW_OK
    implicit none
    private
    public :: lw_operation, lw_operation_named, lw_operation_name
    public :: lw_buffers, lw_measure_options, lw_measure, lw_samples, lw_point

    ! How an operation is timed.
    enum, bind(c)
        enumerator :: LW_TIMING_MAX = 0 ! longest local time over the ranks
        enumerator :: LW_TIMING_ROOT    ! root's time until all have confirmed, less that
        enumerator :: LW_TIMING_GLOBAL  ! last end less first start, on one synchronised clock
        enumerator :: LW_TIMING_TASKS   ! one rank's task at a time
    end enum
    public :: LW_TIMING_MAX, LW_TIMING_ROOT, LW_TIMING_GLOBAL, LW_TIMING_TASKS

    ! How ranks start together.
    enum, bind(c)
        enumerator :: LW_START_BARRIER = 0    ! the harness's own dissemination barrier
        enumerator :: LW_START_DOUBLE_BARRIER ! two of them
        enumerator :: LW_START_WINDOW         ! agreed windows on the global clock
        enumerator :: LW_START_ROUND_TIME     ! a deadline for each repetition
    end enum
    public :: LW_START_BARRIER, LW_START_DOUBLE_BARRIER, LW_START_WINDOW, LW_START_ROUND_TIME

    enum, bind(c)
        enumerator :: LW_CLOCK_AUTO = 0  ! monotonic, or MPI_Wtime where time is simulated
        enumerator :: LW_CLOCK_MONOTONIC ! CLOCK_MONOTONIC
        enumerator :: LW_CLOCK_WTIME     ! MPI_Wtime
        enumerator :: LW_CLOCK_SKEWED    ! monotonic with skew_offset_s and skew_drift
    end enum
    public :: LW_CLOCK_AUTO, LW_CLOCK_MONOTONIC, LW_CLOCK_WTIME, LW_CLOCK_SKEWED

    ! When enough repetitions have been seen.
    enum, bind(c)
        enumerator :: LW_RULE_MEDIAN = 0 ! nonparametric interval of the median
        enumerator :: LW_RULE_STUDENT    ! two-sided Student interval of the mean
    end enum
    public :: LW_RULE_MEDIAN, LW_RULE_STUDENT

    enum, bind(c)
        enumerator :: LW_PAGES_SMALL = 0, LW_PAGES_HUGE
        enumerator :: LW_CACHES_WARM = 0, LW_CACHES_COLD
    end enum
    public :: LW_PAGES_SMALL, LW_PAGES_HUGE, LW_CACHES_WARM, LW_CACHES_COLD

    ! Why a point ended.
    enum, bind(c)
        enumerator :: LW_STOP_INTERVAL = 0, LW_STOP_MAXIMUM, LW_STOP_TIME_LIMIT, LW_STOP_FIXED
    end enum
    public :: LW_STOP_INTERVAL, LW_STOP_MAXIMUM, LW_STOP_TIME_LIMIT, LW_STOP_FIXED

    ! The memory of the messages.
    type, bind(c) :: lw_buffers
        integer(c_int32_t) :: rotating_sets = 1
        integer(c_int32_t) :: offset_bytes = 0
        integer(c_int) :: pages = LW_PAGES_SMALL
        integer(c_int) :: caches = LW_CACHES_WARM
    end type

    ! The members of the struct in C, with its defaults. lw_measure sets struct_size.
    type, bind(c) :: lw_measure_options
        integer(c_int32_t) :: struct_size = 0
        integer(c_int) :: timing = LW_TIMING_MAX
        integer(c_int) :: start = LW_START_BARRIER
        integer(c_int) :: clock = LW_CLOCK_AUTO
        integer(c_int) :: rule = LW_RULE_MEDIAN
        integer(c_int32_t) :: repetitions_min = 10
        integer(c_int32_t) :: repetitions_max = 1000
        integer(c_int32_t) :: warmup_repetitions = 2
        integer(c_int32_t) :: pipeline_length = 1
        real(c_double) :: confidence = 0.95_c_double
        real(c_double) :: error = 0.025_c_double
        real(c_double) :: time_limit_s = 10.0_c_double
        integer(c_int64_t) :: seed = 0
        real(c_double) :: resync_s = 10.0_c_double
        real(c_double) :: skew_offset_s = 0.0_c_double
        real(c_double) :: skew_drift = 0.0_c_double
        type(lw_buffers) :: buffers = lw_buffers()
        type(c_funptr) :: report = c_null_funptr ! a procedure with bind(c)
        type(c_ptr) :: report_context = c_null_ptr
    end type

    ! One point, summed up.
    type, bind(c) :: lw_point
        integer(c_int32_t) :: struct_size = 0
        integer(c_int64_t) :: message_bytes = 0
        integer(c_int64_t) :: reply_bytes = 0
        integer(c_int) :: root = 0
        integer(c_int) :: peer = -1
        integer(c_int) :: second_peer = -1
        integer(c_size_t) :: repetitions = 0
        integer(c_size_t) :: late_count = 0
        integer(c_size_t) :: outlier_count = 0
        integer(c_size_t) :: batch_count = 0
        integer(c_int) :: stop = LW_STOP_FIXED
        real(c_double) :: median_s = 0
        real(c_double) :: low_s = 0
        real(c_double) :: high_s = 0
        real(c_double) :: mean_s = 0
        real(c_double) :: elapsed_s = 0
    end type

    ! Where there is no point.
    real(c_double), target :: no_values(0)

    ! What is measured. It is not to be assigned to another one.
    type :: lw_operation
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: weights => set_weights
        procedure :: window => set_window
        final :: free_operation
    end type

    ! What was measured. It is not to be assigned to another one.
    type :: lw_samples
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: count => count_of
        procedure :: point
        procedure :: median
        procedure :: values
        final :: free_samples
    end type

    interface
        function c_operation_named(name, operation) &
                bind(c, name="lw_operation_named") result(status)
            import :: c_char, c_ptr, c_int
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(inout) :: operation
            integer(c_int) :: status
        end function
        function c_operation_name(index) bind(c, name="lw_operation_name") result(name)
            import :: c_size_t, c_ptr
            integer(c_size_t), value :: index
            type(c_ptr) :: name
        end function
        function c_operation_weights(operation, weights, count) &
                bind(c, name="lw_operation_weights") result(status)
            import :: c_ptr, c_double, c_size_t, c_int
            type(c_ptr), value :: operation
            real(c_double), intent(in) :: weights(*)
            integer(c_size_t), value :: count
            integer(c_int) :: status
        end function
        function c_operation_window(operation, messages) &
                bind(c, name="lw_operation_window") result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: operation
            integer(c_int), value :: messages
            integer(c_int) :: status
        end function
        subroutine c_operation_free(operation) bind(c, name="lw_operation_free")
            import :: c_ptr
            type(c_ptr), value :: operation
        end subroutine
        function c_measure(comm, operation, root, sizes_bytes, count, options, samples) &
                bind(c, name="lw_measure_fortran") result(status)
            import :: c_ptr, c_int, c_int64_t, c_size_t, lw_measure_options
            integer(c_int), value :: comm, root
            type(c_ptr), value :: operation
            integer(c_int64_t), intent(in) :: sizes_bytes(*)
            integer(c_size_t), value :: count
            type(lw_measure_options), intent(in) :: options
            type(c_ptr), intent(inout) :: samples
            integer(c_int) :: status
        end function
        function c_samples_count(samples) bind(c, name="lw_samples_count") result(count)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: samples
            integer(c_size_t) :: count
        end function
        function c_samples_point(samples, index, point) &
                bind(c, name="lw_samples_point") result(status)
            import :: c_ptr, c_size_t, lw_point, c_int
            type(c_ptr), value :: samples
            integer(c_size_t), value :: index
            type(lw_point), intent(inout) :: point
            integer(c_int) :: status
        end function
        function c_samples_median(samples, index) bind(c, name="lw_samples_median") result(median_s)
            import :: c_ptr, c_size_t, c_double
            type(c_ptr), value :: samples
            integer(c_size_t), value :: index
            real(c_double) :: median_s
        end function
        function c_samples_values(samples, index, count) &
                bind(c, name="lw_samples_values") result(values)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: samples
            integer(c_size_t), value :: index
            integer(c_size_t), intent(inout) :: count
            type(c_ptr) :: values
        end function
        subroutine c_samples_free(samples) bind(c, name="lw_samples_free")
            import :: c_ptr
            type(c_ptr), value :: samples
        end subroutine
    end interface

contains

    ! The MPI's own operation called `name`: "scatter", "iallreduce", "pingpong". Fails with
    ! LW_ERR_NOT_FOUND for any other name, LW_ERR_UNSUPPORTED for one that this MPI lacks.
    subroutine lw_operation_named(name, operation, status)
        character(*), intent(in) :: name
        type(lw_operation), intent(inout) :: operation
        integer, intent(out), optional :: status
        type(c_ptr) :: found
        integer(c_int) :: code
        found = c_null_ptr
        code = c_operation_named(trim(name) // c_null_char, found)
        if (c_associated(found)) then
            call free_operation(operation)
            operation%handle = found
        end if
        call lw_settle(code, "lw_operation_named(" // name // ")", status)
    end subroutine

    ! The names that lw_operation_named knows, from 1; empty past the end.
    function lw_operation_name(index) result(name)
        integer, intent(in) :: index
        character(:), allocatable :: name
        name = lw_text(c_operation_name(int(index - 1, c_size_t)))
    end function

    ! For the v-operations: rank i moves message_bytes * weights(i + 1), rounded down.
    subroutine set_weights(self, weights, status)
        class(lw_operation), intent(inout) :: self
        real(c_double), intent(in), contiguous :: weights(:)
        integer, intent(out), optional :: status
        integer(c_int) :: code
        code = c_operation_weights(self%handle, weights, size(weights, kind=c_size_t))
        call lw_settle(code, "weights", status)
    end subroutine

    ! For operations that stream: how many messages are in flight at once.
    subroutine set_window(self, messages, status)
        class(lw_operation), intent(inout) :: self
        integer, intent(in) :: messages
        integer, intent(out), optional :: status
        call lw_settle(c_operation_window(self%handle, int(messages, c_int)), "window", status)
    end subroutine

    subroutine free_operation(self)
        type(lw_operation), intent(inout) :: self
        if (c_associated(self%handle)) call c_operation_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

    ! Measure `operation` on `comm` with `root` for each of the sizes; `samples` then has a point
    ! for each. On a failure it is unchanged, and the sentence that says why goes to the report of
    ! `options`; without one it is in the line with which the program stops.
    subroutine lw_measure(comm, operation, root, sizes_bytes, options, samples, status)
        type(MPI_Comm), intent(in) :: comm
        type(lw_operation), intent(in) :: operation
        integer, intent(in) :: root
        integer(c_int64_t), intent(in), contiguous :: sizes_bytes(:)
        type(lw_measure_options), intent(in) :: options
        type(lw_samples), intent(inout) :: samples
        integer, intent(out), optional :: status
        type(lw_measure_options) :: asked
        type(lw_failure), target :: kept
        type(c_ptr) :: measured
        integer(c_int) :: code
        asked = options
        asked%struct_size = int(c_sizeof(asked), c_int32_t)
        if (.not. c_associated(asked%report)) then
            asked%report = c_funloc(lw_keep_sentence)
            asked%report_context = c_loc(kept)
        end if
        measured = c_null_ptr
        code = c_measure(comm%MPI_VAL, operation%handle, int(root, c_int), sizes_bytes, &
            size(sizes_bytes, kind=c_size_t), asked, measured)
        if (c_associated(measured)) then
            call free_samples(samples)
            samples%handle = measured
        end if
        call lw_settle(code, "lw_measure", status, kept%sentence)
    end subroutine

    ! How many points there are.
    function count_of(self) result(points)
        class(lw_samples), intent(in) :: self
        integer :: points
        points = 0
        if (c_associated(self%handle)) points = int(c_samples_count(self%handle))
    end function

    ! The point at `index`, summed up. Fails with LW_ERR_ARGUMENT where there is none.
    function point(self, index, status) result(found)
        class(lw_samples), intent(in) :: self
        integer, intent(in) :: index
        integer, intent(out), optional :: status
        type(lw_point) :: found
        integer(c_int) :: code
        found%struct_size = int(c_sizeof(found), c_int32_t)
        code = c_samples_point(self%handle, int(index - 1, c_size_t), found)
        call lw_settle(code, "point", status)
    end function

    ! The median of the point at `index`, in seconds; NaN where there is none.
    function median(self, index) result(median_s)
        class(lw_samples), intent(in) :: self
        integer, intent(in) :: index
        real(c_double) :: median_s
        median_s = c_samples_median(self%handle, int(index - 1, c_size_t))
    end function

    ! The raw values of the point at `index` in the order measured, in seconds; none where there is
    ! no such point. They belong to the samples.
    function values(self, index) result(values_s)
        class(lw_samples), intent(in) :: self
        integer, intent(in) :: index
        real(c_double), pointer :: values_s(:)
        type(c_ptr) :: found
        integer(c_size_t) :: count
        count = 0
        found = c_samples_values(self%handle, int(index - 1, c_size_t), count)
        values_s => no_values
        if (c_associated(found)) call c_f_pointer(found, values_s, [count])
    end function

    subroutine free_samples(self)
        type(lw_samples), intent(inout) :: self
        if (c_associated(self%handle)) call c_samples_free(self%handle)
        self%handle = c_null_ptr
    end subroutine

end module
