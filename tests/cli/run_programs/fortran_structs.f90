! SPDX-License-Identifier: BSD-3-Clause
!
! Prints the structs of the module lanewise: where each member is, of which size, its default.
! structs.c prints the same of the headers.
program fortran_structs
    use, intrinsic :: iso_c_binding
    use lanewise
    implicit none
    type(lw_measure_options), target :: o
    type(lw_point), target :: p
    integer(c_intptr_t) :: base

    base = at(c_loc(o))
    call say("options", 0_c_intptr_t, c_sizeof(o), 0.0d0)
    call say("timing", at(c_loc(o%timing)), c_sizeof(o%timing), real(o%timing, 8))
    call say("start", at(c_loc(o%start)), c_sizeof(o%start), real(o%start, 8))
    call say("clock", at(c_loc(o%clock)), c_sizeof(o%clock), real(o%clock, 8))
    call say("rule", at(c_loc(o%rule)), c_sizeof(o%rule), real(o%rule, 8))
    call say("repetitions_min", at(c_loc(o%repetitions_min)), c_sizeof(o%repetitions_min), &
        real(o%repetitions_min, 8))
    call say("repetitions_max", at(c_loc(o%repetitions_max)), c_sizeof(o%repetitions_max), &
        real(o%repetitions_max, 8))
    call say("warmup_repetitions", at(c_loc(o%warmup_repetitions)), &
        c_sizeof(o%warmup_repetitions), real(o%warmup_repetitions, 8))
    call say("pipeline_length", at(c_loc(o%pipeline_length)), c_sizeof(o%pipeline_length), &
        real(o%pipeline_length, 8))
    call say("confidence", at(c_loc(o%confidence)), c_sizeof(o%confidence), o%confidence)
    call say("error", at(c_loc(o%error)), c_sizeof(o%error), o%error)
    call say("time_limit_s", at(c_loc(o%time_limit_s)), c_sizeof(o%time_limit_s), o%time_limit_s)
    call say("seed", at(c_loc(o%seed)), c_sizeof(o%seed), real(o%seed, 8))
    call say("resync_s", at(c_loc(o%resync_s)), c_sizeof(o%resync_s), o%resync_s)
    call say("skew_offset_s", at(c_loc(o%skew_offset_s)), c_sizeof(o%skew_offset_s), &
        o%skew_offset_s)
    call say("skew_drift", at(c_loc(o%skew_drift)), c_sizeof(o%skew_drift), o%skew_drift)
    call say("buffers.rotating_sets", at(c_loc(o%buffers%rotating_sets)), &
        c_sizeof(o%buffers%rotating_sets), real(o%buffers%rotating_sets, 8))
    call say("buffers.offset_bytes", at(c_loc(o%buffers%offset_bytes)), &
        c_sizeof(o%buffers%offset_bytes), real(o%buffers%offset_bytes, 8))
    call say("buffers.pages", at(c_loc(o%buffers%pages)), c_sizeof(o%buffers%pages), &
        real(o%buffers%pages, 8))
    call say("buffers.caches", at(c_loc(o%buffers%caches)), c_sizeof(o%buffers%caches), &
        real(o%buffers%caches, 8))
    call say("report", at(c_loc(o%report)), c_sizeof(o%report), 0.0d0)
    call say("report_context", at(c_loc(o%report_context)), c_sizeof(o%report_context), 0.0d0)

    base = at(c_loc(p))
    call say("point", 0_c_intptr_t, c_sizeof(p), 0.0d0)
    call say("struct_size", at(c_loc(p%struct_size)), c_sizeof(p%struct_size), 0.0d0)
    call say("message_bytes", at(c_loc(p%message_bytes)), c_sizeof(p%message_bytes), 0.0d0)
    call say("reply_bytes", at(c_loc(p%reply_bytes)), c_sizeof(p%reply_bytes), 0.0d0)
    call say("root", at(c_loc(p%root)), c_sizeof(p%root), 0.0d0)
    call say("peer", at(c_loc(p%peer)), c_sizeof(p%peer), 0.0d0)
    call say("second_peer", at(c_loc(p%second_peer)), c_sizeof(p%second_peer), 0.0d0)
    call say("repetitions", at(c_loc(p%repetitions)), c_sizeof(p%repetitions), 0.0d0)
    call say("late_count", at(c_loc(p%late_count)), c_sizeof(p%late_count), 0.0d0)
    call say("outlier_count", at(c_loc(p%outlier_count)), c_sizeof(p%outlier_count), 0.0d0)
    call say("batch_count", at(c_loc(p%batch_count)), c_sizeof(p%batch_count), 0.0d0)
    call say("stop", at(c_loc(p%stop)), c_sizeof(p%stop), 0.0d0)
    call say("median_s", at(c_loc(p%median_s)), c_sizeof(p%median_s), 0.0d0)
    call say("low_s", at(c_loc(p%low_s)), c_sizeof(p%low_s), 0.0d0)
    call say("high_s", at(c_loc(p%high_s)), c_sizeof(p%high_s), 0.0d0)
    call say("mean_s", at(c_loc(p%mean_s)), c_sizeof(p%mean_s), 0.0d0)
    call say("elapsed_s", at(c_loc(p%elapsed_s)), c_sizeof(p%elapsed_s), 0.0d0)

    print "(*(i0, 1x))", LW_OK, LW_ERR_ARGUMENT, LW_ERR_LIMIT, LW_ERR_MEMORY, LW_ERR_MPI, &
        LW_ERR_OPERATION, LW_ERR_NOT_FOUND, LW_ERR_UNSUPPORTED, LW_ERR_IO
    print "(*(i0, 1x))", LW_TIMING_MAX, LW_TIMING_ROOT, LW_TIMING_GLOBAL, LW_TIMING_TASKS, &
        LW_START_BARRIER, LW_START_DOUBLE_BARRIER, LW_START_WINDOW, LW_START_ROUND_TIME
    print "(*(i0, 1x))", LW_CLOCK_AUTO, LW_CLOCK_MONOTONIC, LW_CLOCK_WTIME, LW_CLOCK_SKEWED, &
        LW_RULE_MEDIAN, LW_RULE_STUDENT, LW_PAGES_SMALL, LW_PAGES_HUGE, LW_CACHES_WARM, &
        LW_CACHES_COLD, LW_STOP_INTERVAL, LW_STOP_MAXIMUM, LW_STOP_TIME_LIMIT, LW_STOP_FIXED

contains

    function at(address) result(number)
        type(c_ptr), intent(in) :: address
        integer(c_intptr_t) :: number
        number = transfer(address, number)
    end function

    ! The struct itself comes with the place 0.
    subroutine say(name, address, bytes, preset)
        character(*), intent(in) :: name
        integer(c_intptr_t), intent(in) :: address
        integer(c_size_t), intent(in) :: bytes
        real(8), intent(in) :: preset
        print "(a, 1x, i0, 1x, i0, 1x, f0.3)", name, merge(address - base, 0_c_intptr_t, &
            address /= 0), bytes, preset + 1
    end subroutine
end program
