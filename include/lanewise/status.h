/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status: what every function of Lanewise returns.
 *
 * LW_OK is zero; anything else is a failure, and then no output was changed, but
 * for buffers and handles of which a function says so.
 * A function that fails also hands one sentence (what, where, remedy) to the
 * `report` callback of its options, if there is one; the library never prints.
 * The functions named ..._free or ..._close take NULL, and do nothing then.
 */
#ifndef LANEWISE_STATUS_H
#define LANEWISE_STATUS_H

#if defined(__GNUC__)
#define LW_API __attribute__((visibility("default")))
#else
#define LW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lw_status {
    LW_OK = 0,
    LW_ERR_ARGUMENT,    /* a value the call cannot use */
    LW_ERR_LIMIT,       /* too large for this MPI or this machine */
    LW_ERR_MEMORY,      /* an allocation failed */
    LW_ERR_MPI,         /* the MPI library returned an error */
    LW_ERR_OPERATION,   /* a user operation returned non-zero */
    LW_ERR_NOT_FOUND,   /* no such operation, library or symbol */
    LW_ERR_UNSUPPORTED, /* known, but not possible with this MPI or method */
    LW_ERR_IO,          /* a file could not be read or written */
} lw_status;

/* Receives one sentence about a failure, or about something to know (with LW_OK). */
typedef void (*lw_report_fn)(void *context, lw_status status, const char *sentence);

/* A short English text for `status`; never NULL. */
LW_API const char *lw_status_text(lw_status status);

/* The version of the library, such as "0.2.0". */
LW_API const char *lw_version(void);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_STATUS_H */
