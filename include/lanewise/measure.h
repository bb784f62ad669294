/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measure: the execution time of MPI operations, as a library.
 *
 * The time of an operation is the time from its start, all ranks having
 * started together, until its last rank has completed it, for one isolated
 * execution (MPIBlib 2008, section 2).  A timing method computes that time from
 * clock readings, a start makes the ranks begin together, and a stopping rule
 * decides when there are enough repetitions.
 *
 *     lw_measure_options options = LW_MEASURE_OPTIONS;
 *     lw_operation *scatter = lw_operation_scatter(My_Scatter);
 *     lw_samples *samples = NULL;
 *     lw_status status = lw_measure(comm, scatter, 0, sizes_bytes, count, &options, &samples);
 *     if (status == LW_OK) printf("%g s\n", lw_samples_median(samples, 0));
 *
 * Every function that takes a communicator is collective over it, measures on a
 * private duplicate and returns the same status on every rank.  All ranks must
 * pass the same values, except for the skew and the report; if one rank's are
 * refused, or if they differ, no rank measures.  Calls on different communicators
 * may run at the same time where the MPI allows MPI_THREAD_MULTIPLE.  Times are
 * in seconds, sizes in bytes.
 */
#ifndef LANEWISE_MEASURE_H
#define LANEWISE_MEASURE_H

#include <lanewise/operation.h>
#include <lanewise/samples.h>
#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lw_timing {
    LW_TIMING_MAX,           /* longest local time over the ranks, reduced after the loop */
    LW_TIMING_ROOT,          /* root's time until all have confirmed, minus the confirmation */
    LW_TIMING_GLOBAL,        /* last end minus first start, on one synchronised clock */
    LW_TIMING_TASKS,         /* bcast, scatter(v), gather(v): one rank's task at a time */
    LW_TIMING_LAST = 0x7fff, /* methods without a constant are below it: lw_timing_named */
} lw_timing;

typedef enum lw_start {
    LW_START_BARRIER,        /* the harness's own dissemination barrier */
    LW_START_DOUBLE_BARRIER, /* two of them */
    LW_START_WINDOW,         /* agreed windows on the global clock */
    LW_START_ROUND_TIME,     /* a deadline on the global clock for each repetition */
    LW_START_LAST = 0x7fff,  /* starts without a constant are below it: lw_start_named */
} lw_start;

/* The timing method and the start called `name`: "max", "round-time".
   Fail with LW_ERR_NOT_FOUND for any other name. */
LW_API lw_status lw_timing_named(const char *name, lw_timing *timing);
LW_API lw_status lw_start_named(const char *name, lw_start *start);

/* Their names; NULL past the last one. */
LW_API const char *lw_timing_name(lw_timing timing);
LW_API const char *lw_start_name(lw_start start);

typedef enum lw_clock {
    LW_CLOCK_AUTO,      /* monotonic, or MPI_Wtime where time is simulated */
    LW_CLOCK_MONOTONIC, /* CLOCK_MONOTONIC */
    LW_CLOCK_WTIME,     /* MPI_Wtime */
    LW_CLOCK_SKEWED,    /* monotonic with skew_offset_s and skew_drift of this rank */
} lw_clock;

typedef enum lw_rule {
    LW_RULE_MEDIAN,  /* nonparametric interval of the median, at geometric checkpoints */
    LW_RULE_STUDENT, /* two-sided Student interval of the mean (MPIBlib 2008) */
} lw_rule;

typedef enum lw_pages {
    LW_PAGES_SMALL, /* the system's own */
    LW_PAGES_HUGE,  /* transparent huge pages, requested with madvise */
} lw_pages;

typedef enum lw_caches {
    LW_CACHES_WARM, /* as the repetition before left them */
    LW_CACHES_COLD, /* buffers flushed and the core's own caches filled before each repetition */
} lw_caches;

/* The memory of the messages.  User operations allocate their own, and reject other values. */
typedef struct lw_buffers {
    uint32_t rotating_sets; /* sets of buffers in rotation; 1: always the same one */
    uint32_t offset_bytes;  /* of each buffer from a page boundary; 0: aligned */
    lw_pages pages;
    lw_caches caches;
} lw_buffers;

typedef struct lw_measure_options {
    uint32_t struct_size; /* sizeof(lw_measure_options); lets fields be added */
    lw_timing timing;
    lw_start start;
    lw_clock clock;
    lw_rule rule;
    uint32_t repetitions_min; /* equal to the maximum: exactly that many */
    uint32_t repetitions_max;
    uint32_t warmup_repetitions; /* before each batch, not recorded */
    uint32_t pipeline_length;    /* executions per sample; 1 isolates each from the next */
    double confidence;           /* of the interval, in (0, 1) */
    double error;                /* wanted half-width of the interval over its centre */
    double time_limit_s;         /* for one point, warm-up excluded; 0: none */
    uint64_t seed;               /* of the order in which points are interleaved */
    double resync_s;             /* the global clock is synchronised again when older */
    double skew_offset_s;        /* LW_CLOCK_SKEWED, this rank */
    double skew_drift;           /* LW_CLOCK_SKEWED, this rank: seconds gained per second */
    lw_buffers buffers;          /* the default for pairs and triplets */
    lw_report_fn report;         /* called on rank 0 of the communicator; may be NULL */
    void *report_context;
} lw_measure_options;

#define LW_MEASURE_OPTIONS                                                          \
    {                                                                               \
        sizeof(lw_measure_options), LW_TIMING_MAX, LW_START_BARRIER, LW_CLOCK_AUTO, \
            LW_RULE_MEDIAN, 10, 1000, 2, 1, 0.95, 0.025, 10.0, 0, 10.0, 0.0, 0.0,   \
            {1, 0, LW_PAGES_SMALL, LW_CACHES_WARM}, NULL, NULL                      \
    }

/*
 * Measure `operation` on `comm` with `root` for each of `count` sizes.
 * Stores samples with one point per size, in the order given, in `*samples`.
 * Fails with LW_ERR_ARGUMENT for an intercommunicator, a root outside it, a
 * value outside its range; LW_ERR_LIMIT for a size the MPI cannot express or
 * the free memory cannot hold; LW_ERR_MEMORY where a rank lacks it all the same;
 * LW_ERR_OPERATION where a function of the operation fails or throws; LW_ERR_MPI;
 * LW_ERR_UNSUPPORTED for what does not go together or is not possible here, such
 * as tasks of other operations, in a pipeline or with another start than a barrier,
 * buffers of a user operation that are not the default, cold buffers in a
 * pipeline or on a processor that cannot flush them, and huge pages that are
 * switched off.
 */
LW_API lw_status lw_measure(MPI_Comm comm, const lw_operation *operation, int root,
                            const uint64_t *sizes_bytes, size_t count,
                            const lw_measure_options *options, lw_samples **samples);

/*
 * Measure the given sizes, at least two, and add points where the curve bends:
 * an interval is halved while linear interpolation misses its middle by more
 * than `tolerance` (relative) and it is wider than `stride_bytes_min`.
 * Points are sorted by size.
 */
LW_API lw_status lw_measure_curve(MPI_Comm comm, const lw_operation *operation, int root,
                                  const uint64_t *sizes_bytes, size_t count,
                                  uint64_t stride_bytes_min, double tolerance,
                                  const lw_measure_options *options, lw_samples **samples);

typedef enum lw_order {
    LW_ORDER_PARALLEL,   /* rounds of disjoint pairs or triplets */
    LW_ORDER_SEQUENTIAL, /* one at a time, all other ranks waiting */
} lw_order;

/*
 * Measure the round trip i -> j -> i of `there_bytes` one way and `back_bytes`
 * the other, for all pairs i < j of `comm`.  Timed at i, whole round trip.
 * The order of the points is (0,1), (0,2), ..., (n-2,n-1).
 */
LW_API lw_status lw_measure_pairs(MPI_Comm comm, uint64_t there_bytes, uint64_t back_bytes,
                                  lw_order order, const lw_measure_options *options,
                                  lw_samples **samples);

/*
 * Measure the point-to-two experiment i -> (j, k): i sends `there_bytes` to j
 * and to k and receives `back_bytes` from each (MPIBlib 2008, section 4).
 * Three points for each triplet i < j < k, one per sender.  lw_measure_pairs and
 * lw_measure_triplets fail as lw_measure does, and with LW_ERR_UNSUPPORTED for buffers that are not
 * the default.
 */
LW_API lw_status lw_measure_triplets(MPI_Comm comm, uint64_t there_bytes, uint64_t back_bytes,
                                     lw_order order, const lw_measure_options *options,
                                     lw_samples **samples);

typedef struct lw_clock_report {
    uint32_t struct_size; /* sizeof(lw_clock_report); lets fields be added */
    double residual_s;    /* largest disagreement with rank 0's clock, measured again at the end */
    double uncertainty_s; /* half-width of the bracket of that measurement */
    double span_s;        /* time between synchronisation and check */
    double error_s;       /* true error, known for LW_CLOCK_SKEWED on one host; else NaN */
} lw_clock_report;

#define LW_CLOCK_REPORT \
    { sizeof(lw_clock_report), 0, 0, 0, 0 }

/*
 * Synchronise the clocks of `comm` (HCA3 with drift), wait `wait_s`, from 0 to 1e9, and measure the
 * residual.
 */
LW_API lw_status lw_measure_clock(MPI_Comm comm, double wait_s, const lw_measure_options *options,
                                  lw_clock_report *report);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_MEASURE_H */
