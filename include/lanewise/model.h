/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model: how long communication takes on a machine, predicted from measurements.
 *
 * A platform describes a machine by one or several communication models
 * (Hockney, LogGP, PLogP, LMO, ...), each with its error.  It is fitted to
 * samples of `lanewise measure`, or read from the file that
 * `lanewise model fit` wrote.
 *
 *     lw_platform *platform = NULL;
 *     lw_model_call call = LW_MODEL_CALL;
 *     double time_s = 0.0;
 *     call.collective = "scatter";
 *     call.algorithm = "binomial";
 *     call.message_bytes = 65536;
 *     call.ranks = 4096;
 *     lw_status status = lw_model_read("platform.json", NULL, &platform);
 *     if (status == LW_OK) status = lw_model_predict(platform, &call, NULL, &time_s);
 *     lw_model_free(platform);
 *
 * A prediction simulates the messages of the schedule that would run.  A
 * schedule that a program makes from steps (send, receive, copy and reduce on
 * each rank) is priced in the same way.
 *
 * No function here calls MPI, and all may be called before MPI_Init.  A platform
 * does not change once it is made, and several threads may use it.  Times are
 * in seconds, sizes in bytes.
 */
#ifndef LANEWISE_MODEL_H
#define LANEWISE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_platform lw_platform;
typedef struct lw_schedule lw_schedule;

/* NULL in the place of these options means the defaults. */
typedef struct lw_model_options {
    uint32_t struct_size;     /* sizeof(lw_model_options); lets fields be added */
    const char *model;        /* predict and price: "lmo", ...; NULL: the best of the platform */
    uint32_t redraws;         /* fit: bootstrap samples for the intervals of parameters */
    uint64_t seed;            /* fit: of the bootstrap */
    double copy_s_per_byte;   /* predict and price: of a copy; models do not include it */
    double reduce_s_per_byte; /* the same for a reduction */
    lw_report_fn report;      /* may be NULL */
    void *report_context;
} lw_model_options;

#define LW_MODEL_OPTIONS \
    { sizeof(lw_model_options), NULL, 200, 1, 0.0, 0.0, NULL, NULL }

/*
 * Fit every model that the samples in `count` files allow; all files are from
 * one platform.  `report` gets what was corrected and which models lack
 * measurements, a sentence each, with LW_OK.  Stores the platform in
 * `*platform`; free it with lw_model_free.
 * Fails with LW_ERR_NOT_FOUND where a file is missing or no model can be
 * fitted, LW_ERR_ARGUMENT for a file that is not one of samples.
 */
LW_API lw_status lw_model_fit(const char *const *sample_files, size_t count,
                              const lw_model_options *options, lw_platform **platform);

/* Read a platform file.  Fails with LW_ERR_NOT_FOUND for one that is missing, LW_ERR_ARGUMENT for
   one that cannot be used. */
LW_API lw_status lw_model_read(const char *file, const lw_model_options *options,
                               lw_platform **platform);

/* Write a platform file, whole or not at all. */
LW_API lw_status lw_model_write(const lw_platform *platform, const char *file,
                                const lw_model_options *options);

LW_API void lw_model_free(lw_platform *platform);

/* How many ranks were measured.  Other ranks are predicted as average ones. */
LW_API int lw_model_ranks(const lw_platform *platform);

/* A model of a platform. */
typedef struct lw_model_description {
    uint32_t struct_size;   /* sizeof(lw_model_description); lets fields be added */
    const char *name;       /* as lw_model_options has it */
    int best;               /* whether it predicted held-out points best, or fits best */
    size_t held_out_points; /* measured points that were predicted by a fit without them */
    double held_out_error;  /* the root mean square of their relative errors */
} lw_model_description;

#define LW_MODEL_DESCRIPTION \
    { sizeof(lw_model_description), NULL, 0, 0, 0 }

/* The models of a platform.  Describing one past the last fails with LW_ERR_NOT_FOUND. */
LW_API size_t lw_model_count(const lw_platform *platform);
LW_API lw_status lw_model_describe(const lw_platform *platform, size_t index,
                                   lw_model_description *description);

/* A collective call with an algorithm; `lanewise model algorithms` lists these. */
typedef struct lw_model_call {
    uint32_t struct_size;   /* sizeof(lw_model_call); lets fields be added */
    const char *collective; /* "scatter", "allreduce", ... */
    const char *algorithm;  /* "binomial", ... */
    int ranks;              /* 0: as many as were measured */
    int root;
    uint64_t message_bytes; /* of a block, or of the vector, as in lw_measure */
    uint64_t segment_bytes; /* 0: the algorithm's own choice */
    int lanes;              /* between two sites, for algorithms that use them */
} lw_model_call;

#define LW_MODEL_CALL \
    { sizeof(lw_model_call), NULL, NULL, 0, 0, 0, 0, 1 }

/*
 * Predict a call.  Stores the seconds until the last rank is done in `*time_s`.
 * Fails with LW_ERR_NOT_FOUND for a collective, an algorithm or a model that is
 * not there, LW_ERR_UNSUPPORTED where the algorithm cannot serve the call,
 * LW_ERR_LIMIT where its schedules are too large to be simulated within seconds.
 */
LW_API lw_status lw_model_predict(const lw_platform *platform, const lw_model_call *call,
                                  const lw_model_options *options, double *time_s);

typedef enum lw_step_kind {
    LW_STEP_SEND,
    LW_STEP_RECEIVE,
    LW_STEP_COPY,
    LW_STEP_REDUCE,
} lw_step_kind;

/* What one rank does.  The n-th send between two ranks meets the n-th receive. */
typedef struct lw_step {
    uint32_t struct_size; /* sizeof(lw_step); lets fields be added */
    lw_step_kind kind;
    int peer; /* of a send and a receive: the other rank */
    uint64_t bytes;
    const size_t *after; /* indices of steps of this rank to complete first; copied */
    size_t after_count;
} lw_step;

#define LW_STEP \
    { sizeof(lw_step), LW_STEP_SEND, -1, 0, NULL, 0 }

/*
 * Make a schedule of `ranks` ranks that have nothing to do yet; free it with
 * lw_schedule_free.  `report`, which may be NULL, gets a sentence about each
 * step that is refused.
 */
LW_API lw_status lw_schedule_create(int ranks, lw_report_fn report, void *report_context,
                                    lw_schedule **schedule);

/*
 * Add a step to what `rank` does, and store its index in `*index`, which may be
 * NULL; indices of a rank count from 0.  A rank starts its steps in the order
 * in which they were added, each as soon as those that it names have completed.
 * Fails with LW_ERR_ARGUMENT for a rank, a peer or a step to wait for that is
 * not there.
 */
LW_API lw_status lw_schedule_add(lw_schedule *schedule, int rank, const lw_step *step,
                                 size_t *index);

LW_API void lw_schedule_free(lw_schedule *schedule);

/*
 * Price a schedule.  Stores the seconds until the last rank is done in
 * `*time_s`, and when each is done in `rank_s` (one number per rank), which may
 * be NULL.  Fails with LW_ERR_ARGUMENT if ranks wait for each other forever;
 * `report` gets their numbers.
 */
LW_API lw_status lw_model_price(const lw_platform *platform, const lw_schedule *schedule,
                                const lw_model_options *options, double *time_s, double *rank_s);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_MODEL_H */
