! SPDX-License-Identifier: BSD-3-Clause
!
! Collectives for Fortran: what <lanewise/collectives.h> says, with the handles of mpi_f08.
!
!     type(lw_algorithm) :: binomial
!     call lw_algorithm_named("bcast", "binomial", binomial)
!     call lw_bcast(values, size(values), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, binomial)
!
! Each procedure takes the arguments of the MPI procedure of its name, an algorithm, and the
! optional `status` of <lanewise/status.f90>. A program with `use mpi`, whose handles are integers,
! imports the types of mpi_f08 under names that its own module does not have:
!
!     use mpi
!     use mpi_f08, only: comm_f08 => MPI_Comm, datatype_f08 => MPI_Datatype, op_f08 => MPI_Op
!     call lw_bcast(values, size(values), datatype_f08(MPI_DOUBLE_PRECISION), 0, &
!         comm_f08(MPI_COMM_WORLD), binomial)
!
! A buffer is an array of any rank, a scalar, MPI_IN_PLACE or MPI_BOTTOM of either module. A section
! that is not contiguous is refused with LW_ERR_ARGUMENT on the ranks where the buffer counts, which
! for the receive buffer of a gather is the root: pass a copy, or the array and a derived type. The
! buffers of a call in flight should have the attribute `asynchronous`.
!
! The first call on a communicator waits for all of its ranks, also a call such as lw_ibcast: where
! that must not be, call lw_barrier on it before. An operator of the program, and the datatype that
! it reduces, are to be freed only after `wait`.

module lanewise_collectives
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_funloc, c_funptr, c_int, &
        c_int32_t, c_int64_t, c_loc, c_null_char, c_null_funptr, c_null_ptr, c_ptr, c_size_t, &
        c_sizeof
    use mpi, only: IN_PLACE => MPI_IN_PLACE, BOTTOM => MPI_BOTTOM
    use mpi_f08, only: IN_PLACE_F08 => MPI_IN_PLACE, BOTTOM_F08 => MPI_BOTTOM, MPI_Comm, &
        MPI_Comm_rank, MPI_Datatype, MPI_Op, MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_OP_NULL
    use lanewise_status, only: lw_failure, lw_keep_sentence, lw_settle, lw_text, LW_ERR_ARGUMENT, &
        LW_OK
    implicit none
    private
    public :: lw_algorithm, lw_algorithm_named, lw_algorithm_with, lw_algorithm_collective, &
        lw_algorithm_name, lw_pending
    public :: lw_barrier, lw_bcast, lw_scatter, lw_scatterv, lw_gather, lw_gatherv, lw_allgather, &
        lw_allgatherv, lw_alltoall, lw_reduce, lw_allreduce, lw_reduce_scatter, lw_scan, lw_exscan
    public :: lw_ibarrier, lw_ibcast, lw_iscatter, lw_igather, lw_iallgather, lw_ialltoall, &
        lw_ireduce, lw_iallreduce, lw_iscan, lw_iexscan

    ! What the bits of a reduction may depend on.
    enum, bind(c)
        enumerator :: LW_BITS_ANY = 0, LW_BITS_ORDER, LW_BITS_RANKS
    end enum
    public :: LW_BITS_ANY, LW_BITS_ORDER, LW_BITS_RANKS

    ! Where a buffer counts, if it does not on every rank.
    integer, parameter :: AT_ROOT = 1

    ! An algorithm of one collective. It is not to be assigned to another one.
    type :: lw_algorithm
        private
        type(c_ptr) :: handle = c_null_ptr
        type(lw_failure), pointer :: told => null() ! why its last call was refused
    contains
        final :: free_algorithm
    end type

    ! A call in flight. It goes on only inside `test` and `wait`, and must be ended by `wait`.
    type :: lw_pending
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: test
        procedure :: wait => wait_for
    end type

    ! lw_algorithm_options of <lanewise/collectives.h>.
    type, bind(c) :: c_options
        integer(c_int32_t) :: struct_size = 0
        integer(c_int) :: bits = LW_BITS_ANY
        integer(c_int64_t) :: segment_bytes = 0
        type(c_funptr) :: report = c_null_funptr
        type(c_ptr) :: report_context = c_null_ptr
    end type

    ! lw_fortran_call of <lanewise/fortran.h>.
    type, bind(c) :: c_call
        integer(c_int32_t) :: struct_size = 0
        integer(c_int) :: send_count = 0, send_type = 0, receive_count = 0, receive_type = 0
        integer(c_int) :: op = 0, root = 0, comm = 0
        type(c_ptr) :: send = c_null_ptr, receive = c_null_ptr
        type(c_ptr) :: counts = c_null_ptr, displacements = c_null_ptr
    end type

    interface
        function c_algorithm_with(collective, name, options, algorithm) &
                bind(c, name="lw_algorithm_with") result(status)
            import :: c_char, c_int, c_options, c_ptr
            character(kind=c_char), intent(in) :: collective(*)
            type(c_ptr), value :: name
            type(c_options), intent(in) :: options
            type(c_ptr), intent(inout) :: algorithm
            integer(c_int) :: status
        end function
        function c_algorithm_collective(index) bind(c, name="lw_algorithm_collective") &
                result(collective)
            import :: c_size_t, c_ptr
            integer(c_size_t), value :: index
            type(c_ptr) :: collective
        end function
        function c_algorithm_name(index) bind(c, name="lw_algorithm_name") result(name)
            import :: c_size_t, c_ptr
            integer(c_size_t), value :: index
            type(c_ptr) :: name
        end function
        subroutine c_algorithm_free(algorithm) bind(c, name="lw_algorithm_free")
            import :: c_ptr
            type(c_ptr), value :: algorithm
        end subroutine
        function c_collective(name, call, algorithm) &
                bind(c, name="lw_collective_fortran") result(status)
            import :: c_char, c_call, c_ptr, c_int
            character(kind=c_char), intent(in) :: name(*)
            type(c_call), intent(in) :: call
            type(c_ptr), value :: algorithm
            integer(c_int) :: status
        end function
        function c_icollective(name, call, algorithm, pending) &
                bind(c, name="lw_icollective_fortran") result(status)
            import :: c_char, c_call, c_ptr, c_int
            character(kind=c_char), intent(in) :: name(*)
            type(c_call), intent(in) :: call
            type(c_ptr), value :: algorithm
            type(c_ptr), intent(inout) :: pending
            integer(c_int) :: status
        end function
        function c_in_place() bind(c, name="lw_in_place_fortran") result(address)
            import :: c_ptr
            type(c_ptr) :: address
        end function
        function c_pending_test(pending, done) bind(c, name="lw_pending_test") result(status)
            import :: c_ptr, c_int
            type(c_ptr), value :: pending
            integer(c_int), intent(inout) :: done
            integer(c_int) :: status
        end function
        function c_pending_wait(pending) bind(c, name="lw_pending_wait") result(status)
            import :: c_ptr, c_int
            type(c_ptr), intent(inout) :: pending
            integer(c_int) :: status
        end function
    end interface

contains

    ! The algorithm `name` of `collective` ("scatter", "allreduce", ...), with segments of
    ! `segment_bytes`, or of its own choice. Fails with LW_ERR_NOT_FOUND.
    subroutine lw_algorithm_named(collective, name, algorithm, segment_bytes, status)
        character(*), intent(in) :: collective, name
        type(lw_algorithm), intent(inout) :: algorithm
        integer(c_int64_t), intent(in), optional :: segment_bytes
        integer, intent(out), optional :: status
        call make("lw_algorithm_named(" // collective // ", " // name // ")", collective, &
            LW_BITS_ANY, algorithm, name, segment_bytes, status)
    end subroutine

    ! Reductions of `collective` that have the same bits: with LW_BITS_ORDER by the algorithm `name`,
    ! or by the one that suits each call; with LW_BITS_RANKS the library chooses. Fails as
    ! lw_algorithm_with of <lanewise/collectives.h> does.
    subroutine lw_algorithm_with(collective, bits, algorithm, name, segment_bytes, status)
        character(*), intent(in) :: collective
        integer, intent(in) :: bits
        type(lw_algorithm), intent(inout) :: algorithm
        character(*), intent(in), optional :: name
        integer(c_int64_t), intent(in), optional :: segment_bytes
        integer, intent(out), optional :: status
        call make("lw_algorithm_with(" // collective // ")", collective, bits, algorithm, name, &
            segment_bytes, status)
    end subroutine

    ! The collective and the name of the algorithm at `index`, from 1; empty past the end.
    function lw_algorithm_collective(index) result(collective)
        integer, intent(in) :: index
        character(:), allocatable :: collective
        collective = lw_text(c_algorithm_collective(int(index - 1, c_size_t)))
    end function

    function lw_algorithm_name(index) result(name)
        integer, intent(in) :: index
        character(:), allocatable :: name
        name = lw_text(c_algorithm_name(int(index - 1, c_size_t)))
    end function

    ! Makes an algorithm for the procedure `what`.
    subroutine make(what, collective, bits, algorithm, name, segment_bytes, status)
        character(*), intent(in) :: what, collective
        integer, intent(in) :: bits
        type(lw_algorithm), intent(inout) :: algorithm
        character(*), intent(in), optional :: name
        integer(c_int64_t), intent(in), optional :: segment_bytes
        integer, intent(out), optional :: status
        character(kind=c_char, len=:), allocatable, target :: named
        type(lw_failure), pointer :: told
        type(c_options) :: options
        type(c_ptr) :: found, address
        integer(c_int) :: code
        character(20) :: digits
        if (present(segment_bytes)) then
            if (segment_bytes < 0) then
                write (digits, "(i0)") segment_bytes
                call lw_settle(LW_ERR_ARGUMENT, what, status, &
                    "segment_bytes is " // trim(digits) // "; say 0 or more")
                return
            end if
        end if
        allocate (told)
        options = c_options(bits=int(bits, c_int), report=c_funloc(lw_keep_sentence), &
            report_context=c_loc(told))
        options%struct_size = int(c_sizeof(options), c_int32_t)
        if (present(segment_bytes)) options%segment_bytes = segment_bytes
        address = c_null_ptr
        if (present(name)) then
            named = trim(name) // c_null_char
            address = c_loc(named)
        end if
        found = c_null_ptr
        code = c_algorithm_with(trim(collective) // c_null_char, address, options, found)
        call lw_settle(code, what, status, told%sentence)
        if (c_associated(found)) then
            call free_algorithm(algorithm)
            algorithm%handle = found
            algorithm%told => told
        else
            deallocate (told)
        end if
    end subroutine

    subroutine free_algorithm(self)
        type(lw_algorithm), intent(inout) :: self
        if (c_associated(self%handle)) call c_algorithm_free(self%handle)
        if (associated(self%told)) deallocate (self%told)
        self%handle = c_null_ptr
    end subroutine

    ! Tells whether the call is complete; it must still be ended by `wait`. Also true on a failure,
    ! as of a call that could not be begun: nobody is to wait for that.
    function test(self, status) result(done)
        class(lw_pending), intent(in) :: self
        integer, intent(out), optional :: status
        logical :: done
        integer(c_int) :: answer, code
        answer = 0
        code = c_pending_test(self%handle, answer)
        call lw_settle(code, "test", status)
        done = answer /= 0 .or. code /= LW_OK
    end function

    subroutine wait_for(self, status)
        class(lw_pending), intent(inout) :: self
        integer, intent(out), optional :: status
        call lw_settle(c_pending_wait(self%handle), "wait", status)
    end subroutine

    function address(variable) result(at)
        type(*), intent(in), target :: variable(..)
        type(c_ptr) :: at
        at = c_loc(variable)
    end function

    ! Whether this is one of the ranks on which a buffer counts: that of AT_ROOT, or each.
    function counts_here(root, comm, ranks) result(answer)
        integer, intent(in) :: root
        type(MPI_Comm), intent(in) :: comm
        integer, intent(in), optional :: ranks
        logical :: answer
        integer :: rank
        answer = .not. present(ranks) .or. comm%MPI_VAL == MPI_COMM_NULL%MPI_VAL
        if (answer) return
        call MPI_Comm_rank(comm, rank)
        answer = rank == root
    end function

    ! Puts the address of a buffer, as C is to see it, into `at`; nothing if it has gaps.
    subroutine locate(buffer, at, whole)
        type(*), intent(in), target :: buffer(..)
        type(c_ptr), intent(inout) :: at
        logical, intent(out) :: whole
        whole = is_contiguous(buffer)
        if (.not. whole) return
        at = c_loc(buffer)
        if (c_associated(at, address(IN_PLACE))) at = c_in_place()
        if (c_associated(at, address(IN_PLACE_F08))) at = c_in_place()
        if (c_associated(at, address(BOTTOM))) at = c_null_ptr
        if (c_associated(at, address(BOTTOM_F08))) at = c_null_ptr
    end subroutine

    function blank(comm) result(made)
        type(MPI_Comm), intent(in) :: comm
        type(c_call) :: made
        made%struct_size = int(c_sizeof(made), c_int32_t)
        made%send_type = MPI_DATATYPE_NULL%MPI_VAL
        made%receive_type = MPI_DATATYPE_NULL%MPI_VAL
        made%op = MPI_OP_NULL%MPI_VAL
        made%comm = comm%MPI_VAL
    end function

    ! The call of a collective that moves blocks; `sent` and `received`: where these buffers count.
    function moved(send, send_count, send_type, receive, receive_count, receive_type, root, comm, &
            counts, displacements, sent, received) result(made)
        type(*), intent(in), target :: send(..), receive(..)
        integer, intent(in) :: send_count, receive_count, root
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        integer, intent(in), target, optional :: counts(*), displacements(*)
        integer, intent(in), optional :: sent, received
        type(c_call) :: made
        logical :: whole
        made = blank(comm)
        made%send_count = send_count
        made%send_type = send_type%MPI_VAL
        made%receive_count = receive_count
        made%receive_type = receive_type%MPI_VAL
        made%root = root
        if (present(counts)) made%counts = c_loc(counts)
        if (present(displacements)) made%displacements = c_loc(displacements)
        ! C refuses a call of another size, and reads none of its members.
        call locate(send, made%send, whole)
        if (.not. whole .and. counts_here(root, comm, sent)) made%struct_size = 0
        call locate(receive, made%receive, whole)
        if (.not. whole .and. counts_here(root, comm, received)) made%struct_size = 0
    end function

    ! The call of a collective that combines; `received`: where the result counts.
    function reduced(send, receive, count, datatype, op, root, comm, received) result(made)
        type(*), intent(in), target :: send(..), receive(..)
        integer, intent(in) :: count, root
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        integer, intent(in), optional :: received
        type(c_call) :: made
        made = moved(send, 0, MPI_DATATYPE_NULL, receive, count, datatype, root, comm, &
            received=received)
        made%op = op%MPI_VAL
    end function

    ! The same of reduce_scatter, whose blocks differ in size.
    function scattered(send, receive, counts, datatype, op, comm) result(made)
        type(*), intent(in), target :: send(..), receive(..)
        integer, intent(in), target :: counts(*)
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(c_call) :: made
        made = reduced(send, receive, 0, datatype, op, 0, comm)
        made%counts = c_loc(counts)
    end function

    ! The call of a broadcast, which has one buffer.
    function spread_out(buffer, count, datatype, root, comm) result(made)
        type(*), intent(in), target :: buffer(..)
        integer, intent(in) :: count, root
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Comm), intent(in) :: comm
        type(c_call) :: made
        made = moved(buffer, 0, MPI_DATATYPE_NULL, buffer, count, datatype, root, comm)
        made%send = c_null_ptr
    end function

    subroutine forget_reason(algorithm)
        type(lw_algorithm), intent(in) :: algorithm
        if (associated(algorithm%told)) algorithm%told%sentence = ""
    end subroutine

    ! Why a call by the algorithm failed; empty where no reason was told.
    function reason_of(algorithm) result(reason)
        type(lw_algorithm), intent(in) :: algorithm
        character(:), allocatable :: reason
        reason = ""
        if (associated(algorithm%told)) reason = trim(algorithm%told%sentence)
        if (.not. c_associated(algorithm%handle)) reason = &
            "the algorithm was not made; call lw_algorithm_named or lw_algorithm_with"
    end function

    subroutine carry_out(name, made, algorithm, status)
        character(*), intent(in) :: name
        type(c_call), intent(in) :: made
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        integer(c_int) :: code
        call forget_reason(algorithm)
        code = c_collective(name // c_null_char, made, algorithm%handle)
        call lw_settle(code, "lw_" // name, status, reason_of(algorithm))
    end subroutine

    subroutine begin(name, made, algorithm, pending, status)
        character(*), intent(in) :: name
        type(c_call), intent(in) :: made
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        integer(c_int) :: code
        call forget_reason(algorithm)
        if (c_associated(pending%handle)) then
            call lw_settle(LW_ERR_ARGUMENT, "lw_i" // name, status, &
                "the variable has a call in flight; end that by wait")
            return
        end if
        code = c_icollective(name // c_null_char, made, algorithm%handle, pending%handle)
        call lw_settle(code, "lw_i" // name, status, reason_of(algorithm))
    end subroutine

    subroutine lw_barrier(comm, algorithm, status)
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("barrier", blank(comm), algorithm, status)
    end subroutine

    subroutine lw_bcast(buffer, count, datatype, root, comm, algorithm, status)
        type(*), target :: buffer(..)
        integer, intent(in) :: count, root
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("bcast", spread_out(buffer, count, datatype, root, comm), algorithm, status)
    end subroutine

    subroutine lw_scatter(send, send_count, send_type, receive, receive_count, receive_type, &
            root, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: send_count, receive_count, root
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("scatter", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, root, comm, &
            sent=AT_ROOT), &
            algorithm, status)
    end subroutine

    subroutine lw_scatterv(send, counts, displacements, send_type, receive, receive_count, &
            receive_type, root, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: receive_count, root
        integer, intent(in), target :: counts(*), displacements(*)
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("scatterv", &
            moved(send, 0, send_type, receive, receive_count, receive_type, root, comm, counts, &
            displacements, sent=AT_ROOT), &
            algorithm, status)
    end subroutine

    subroutine lw_gather(send, send_count, send_type, receive, receive_count, receive_type, &
            root, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: send_count, receive_count, root
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("gather", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, root, comm, &
            received=AT_ROOT), &
            algorithm, status)
    end subroutine

    subroutine lw_gatherv(send, send_count, send_type, receive, counts, displacements, &
            receive_type, root, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: send_count, root
        integer, intent(in), target :: counts(*), displacements(*)
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("gatherv", &
            moved(send, send_count, send_type, receive, 0, receive_type, root, comm, counts, &
            displacements, received=AT_ROOT), &
            algorithm, status)
    end subroutine

    subroutine lw_allgather(send, send_count, send_type, receive, receive_count, receive_type, &
            comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: send_count, receive_count
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("allgather", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, 0, comm), &
            algorithm, status)
    end subroutine

    subroutine lw_allgatherv(send, send_count, send_type, receive, counts, displacements, &
            receive_type, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: send_count
        integer, intent(in), target :: counts(*), displacements(*)
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("allgatherv", &
            moved(send, send_count, send_type, receive, 0, receive_type, 0, comm, counts, &
            displacements), &
            algorithm, status)
    end subroutine

    subroutine lw_alltoall(send, send_count, send_type, receive, receive_count, receive_type, &
            comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: send_count, receive_count
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("alltoall", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, 0, comm), &
            algorithm, status)
    end subroutine

    subroutine lw_reduce(send, receive, count, datatype, op, root, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: count, root
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("reduce", &
            reduced(send, receive, count, datatype, op, root, comm, AT_ROOT), &
            algorithm, status)
    end subroutine

    subroutine lw_allreduce(send, receive, count, datatype, op, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("allreduce", &
            reduced(send, receive, count, datatype, op, 0, comm), &
            algorithm, status)
    end subroutine

    subroutine lw_reduce_scatter(send, receive, counts, datatype, op, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in), target :: counts(*)
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("reduce_scatter", &
            scattered(send, receive, counts, datatype, op, comm), &
            algorithm, status)
    end subroutine

    subroutine lw_scan(send, receive, count, datatype, op, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("scan", &
            reduced(send, receive, count, datatype, op, 0, comm), &
            algorithm, status)
    end subroutine

    subroutine lw_exscan(send, receive, count, datatype, op, comm, algorithm, status)
        type(*), intent(in), target :: send(..)
        type(*), target :: receive(..)
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        integer, intent(out), optional :: status
        call carry_out("exscan", &
            reduced(send, receive, count, datatype, op, 0, comm), &
            algorithm, status)
    end subroutine

    subroutine lw_ibarrier(comm, algorithm, pending, status)
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("barrier", blank(comm), algorithm, pending, status)
    end subroutine

    subroutine lw_ibcast(buffer, count, datatype, root, comm, algorithm, pending, status)
        type(*), target, asynchronous :: buffer(..)
        integer, intent(in) :: count, root
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("bcast", &
            spread_out(buffer, count, datatype, root, comm), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_iscatter(send, send_count, send_type, receive, receive_count, receive_type, &
            root, comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: send_count, receive_count, root
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("scatter", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, root, comm, &
            sent=AT_ROOT), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_igather(send, send_count, send_type, receive, receive_count, receive_type, &
            root, comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: send_count, receive_count, root
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("gather", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, root, comm, &
            received=AT_ROOT), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_iallgather(send, send_count, send_type, receive, receive_count, receive_type, &
            comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: send_count, receive_count
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("allgather", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, 0, comm), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_ialltoall(send, send_count, send_type, receive, receive_count, receive_type, &
            comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: send_count, receive_count
        type(MPI_Datatype), intent(in) :: send_type, receive_type
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("alltoall", &
            moved(send, send_count, send_type, receive, receive_count, receive_type, 0, comm), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_ireduce(send, receive, count, datatype, op, root, comm, algorithm, pending, &
            status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: count, root
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("reduce", &
            reduced(send, receive, count, datatype, op, root, comm, AT_ROOT), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_iallreduce(send, receive, count, datatype, op, comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("allreduce", &
            reduced(send, receive, count, datatype, op, 0, comm), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_iscan(send, receive, count, datatype, op, comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("scan", &
            reduced(send, receive, count, datatype, op, 0, comm), &
            algorithm, pending, status)
    end subroutine

    subroutine lw_iexscan(send, receive, count, datatype, op, comm, algorithm, pending, status)
        type(*), intent(in), target, asynchronous :: send(..)
        type(*), target, asynchronous :: receive(..)
        integer, intent(in) :: count
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: op
        type(MPI_Comm), intent(in) :: comm
        type(lw_algorithm), intent(in) :: algorithm
        type(lw_pending), intent(inout) :: pending
        integer, intent(out), optional :: status
        call begin("exscan", &
            reduced(send, receive, count, datatype, op, 0, comm), &
            algorithm, pending, status)
    end subroutine

end module
