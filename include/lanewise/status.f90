! SPDX-License-Identifier: BSD-3-Clause
!
! Status for Fortran: what <lanewise/status.h> says. Procedures of Lanewise have an optional last
! argument `status`. Where it is given, it is set to LW_OK or to what failed; where it is not, a
! failure stops the program with a line that names the procedure and the reason.

module lanewise_status
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char, c_ptr, c_f_pointer, &
        c_associated, c_size_t
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none
    private
    public :: lw_status_text, lw_version, lw_settle, lw_text, lw_failure, lw_keep_sentence

    ! For the other modules: why a call failed, on the rank that is told.
    type :: lw_failure
        character(400) :: sentence = ""
    end type

    enum, bind(c)
        enumerator :: LW_OK = 0
        enumerator :: LW_ERR_ARGUMENT    ! a value the call cannot use
        enumerator :: LW_ERR_LIMIT       ! too large for this MPI or this machine
        enumerator :: LW_ERR_MEMORY      ! an allocation failed
        enumerator :: LW_ERR_MPI         ! the MPI library returned an error
        enumerator :: LW_ERR_OPERATION   ! a user operation failed
        enumerator :: LW_ERR_NOT_FOUND   ! no such operation, algorithm or library
        enumerator :: LW_ERR_UNSUPPORTED ! known, but not possible with this MPI or method
        enumerator :: LW_ERR_IO          ! a file could not be read or written
    end enum
    public :: LW_OK, LW_ERR_ARGUMENT, LW_ERR_LIMIT, LW_ERR_MEMORY, LW_ERR_MPI, LW_ERR_OPERATION, &
        LW_ERR_NOT_FOUND, LW_ERR_UNSUPPORTED, LW_ERR_IO

    interface
        function c_status_text(status) bind(c, name="lw_status_text") result(text)
            import :: c_int, c_ptr
            integer(c_int), value :: status
            type(c_ptr) :: text
        end function
        function c_version() bind(c, name="lw_version") result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function
        function c_strlen(text) bind(c, name="strlen") result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface

contains

    ! A short English text for `status`.
    function lw_status_text(status) result(text)
        integer, intent(in) :: status
        character(:), allocatable :: text
        text = lw_text(c_status_text(int(status, c_int)))
    end function

    ! The version of the library, such as "0.2.0".
    function lw_version() result(text)
        character(:), allocatable :: text
        text = lw_text(c_version())
    end function

    ! For the other modules: the text at an address of C, empty for a null pointer.
    function lw_text(address) result(text)
        type(c_ptr), intent(in) :: address
        character(:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: i
        text = ""
        if (.not. c_associated(address)) return
        call c_f_pointer(address, letters, [c_strlen(address)])
        text = repeat(" ", size(letters))
        do i = 1, size(letters)
            text(i:i) = letters(i)
        end do
    end function

    ! For the other modules: a report for options of C, whose context is an lw_failure.
    subroutine lw_keep_sentence(context, status, sentence) bind(c)
        type(c_ptr), value :: context
        integer(c_int), value :: status
        type(c_ptr), value :: sentence
        type(lw_failure), pointer :: kept
        if (status == LW_OK) return
        call c_f_pointer(context, kept)
        kept%sentence = lw_text(sentence)
    end subroutine

    ! For the other modules: hand the status of C to who asked for it, or stop on a failure and say
    ! the reason, that of the status where none is given.
    subroutine lw_settle(code, what, status, reason)
        integer(c_int), intent(in) :: code
        character(*), intent(in) :: what
        integer, intent(out), optional :: status
        character(*), intent(in), optional :: reason
        character(:), allocatable :: why
        if (present(status)) status = code
        if (present(status) .or. code == LW_OK) return
        why = lw_status_text(code)
        if (present(reason)) then
            if (reason /= "") why = trim(reason)
        end if
        write (error_unit, "(a)") "lanewise: " // what // ": " // why
        flush (error_unit)
        error stop 1
    end subroutine

end module
