/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints of the headers what fortran_structs.f90 prints of the module lanewise. */
#include <lanewise/measure.h>
#include <stddef.h>
#include <stdio.h>

#define SAY(type, member, preset)                                                             \
    printf("%s %zu %zu %.3f\n", #member, offsetof(type, member), sizeof(((type *)0)->member), \
           (double)(preset) + 1)
#define OPTION(member) SAY(lw_measure_options, member, options.member)
#define POINTER(member) SAY(lw_measure_options, member, options.member ? 1 : 0)
#define POINT(member) SAY(lw_point, member, 0)

int main(void) {
    const lw_measure_options options = LW_MEASURE_OPTIONS;
    printf("options 0 %zu 1.000\n", sizeof options);
    OPTION(timing);
    OPTION(start);
    OPTION(clock);
    OPTION(rule);
    OPTION(repetitions_min);
    OPTION(repetitions_max);
    OPTION(warmup_repetitions);
    OPTION(pipeline_length);
    OPTION(confidence);
    OPTION(error);
    OPTION(time_limit_s);
    OPTION(seed);
    OPTION(resync_s);
    OPTION(skew_offset_s);
    OPTION(skew_drift);
    OPTION(buffers.rotating_sets);
    OPTION(buffers.offset_bytes);
    OPTION(buffers.pages);
    OPTION(buffers.caches);
    POINTER(report);
    POINTER(report_context);

    printf("point 0 %zu 1.000\n", sizeof(lw_point));
    POINT(struct_size);
    POINT(message_bytes);
    POINT(reply_bytes);
    POINT(root);
    POINT(peer);
    POINT(second_peer);
    POINT(repetitions);
    POINT(late_count);
    POINT(outlier_count);
    POINT(batch_count);
    POINT(stop);
    POINT(median_s);
    POINT(low_s);
    POINT(high_s);
    POINT(mean_s);
    POINT(elapsed_s);

    printf("%d %d %d %d %d %d %d %d %d\n", LW_OK, LW_ERR_ARGUMENT, LW_ERR_LIMIT, LW_ERR_MEMORY,
           LW_ERR_MPI, LW_ERR_OPERATION, LW_ERR_NOT_FOUND, LW_ERR_UNSUPPORTED, LW_ERR_IO);
    printf("%d %d %d %d %d %d %d %d\n", LW_TIMING_MAX, LW_TIMING_ROOT, LW_TIMING_GLOBAL,
           LW_TIMING_TASKS, LW_START_BARRIER, LW_START_DOUBLE_BARRIER, LW_START_WINDOW,
           LW_START_ROUND_TIME);
    printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", LW_CLOCK_AUTO, LW_CLOCK_MONOTONIC,
           LW_CLOCK_WTIME, LW_CLOCK_SKEWED, LW_RULE_MEDIAN, LW_RULE_STUDENT, LW_PAGES_SMALL,
           LW_PAGES_HUGE, LW_CACHES_WARM, LW_CACHES_COLD, LW_STOP_INTERVAL, LW_STOP_MAXIMUM,
           LW_STOP_TIME_LIMIT, LW_STOP_FIXED);
    return 0;
}
