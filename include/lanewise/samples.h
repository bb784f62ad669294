/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples: the result of a measurement, every value of every point.
 *
 * A point is one operation at one size.  Its centre is the median with a
 * nonparametric interval, or the mean with Student's, as the rule asked.
 * Reading past the last point gives zero, NaN or NULL, never a crash.
 */
#ifndef LANEWISE_SAMPLES_H
#define LANEWISE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_samples lw_samples;

typedef enum lw_stop {
    LW_STOP_INTERVAL,   /* the interval is narrow enough */
    LW_STOP_MAXIMUM,    /* repetitions_max was reached first */
    LW_STOP_TIME_LIMIT, /* time_limit_s was reached first */
    LW_STOP_FIXED,      /* the number of repetitions was fixed */
} lw_stop;

/* Summary of one point. */
typedef struct lw_point {
    uint32_t struct_size; /* sizeof(lw_point); lets fields be added */
    uint64_t message_bytes;
    uint64_t reply_bytes; /* pairs and triplets: size of the reply */
    int root;             /* the sender, for pairs and triplets */
    int peer;             /* pairs and triplets: the other rank, else -1 */
    int second_peer;      /* triplets: the third rank, else -1 */
    size_t repetitions;
    size_t late_count;    /* repetitions dropped because a rank started late */
    size_t outlier_count; /* values beyond three interquartile ranges, kept */
    size_t batch_count;
    lw_stop stop;
    double median_s;
    double low_s;  /* interval of the median, or of the mean with LW_RULE_STUDENT; NaN where the */
    double high_s; /* repetitions are too few for its confidence: below 6, or 2, for 95 % */
    double mean_s;
    double elapsed_s; /* wall time that the point took */
} lw_point;

#define LW_POINT \
    { sizeof(lw_point), 0, 0, 0, 0, 0, 0, 0, 0, 0, LW_STOP_INTERVAL, 0, 0, 0, 0, 0 }

LW_API size_t lw_samples_count(const lw_samples *samples);
/* Fill in the point of this index; LW_ERR_ARGUMENT past the last or for another struct_size. */
LW_API lw_status lw_samples_point(const lw_samples *samples, size_t index, lw_point *point);
LW_API double lw_samples_median(const lw_samples *samples, size_t index);

/* The raw values of a point in the order measured, owned by `samples`. */
LW_API const double *lw_samples_values(const lw_samples *samples, size_t index, size_t *count);

LW_API void lw_samples_free(lw_samples *samples);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_SAMPLES_H */
