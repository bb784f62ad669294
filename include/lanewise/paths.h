/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths: queue pairs that survive a failed cable (Vishnu et al. 2007, section 3).
 *
 * Three modules over plain verbs, which can also be called one by one: specify
 * an alternate path, load it, migrate to it.
 *
 *     lw_paths_options options = LW_PATHS_OPTIONS;
 *     lw_paths *paths = NULL;
 *     lw_paths_open(context, &options, &paths);
 *     lw_paths_add(paths, qp);              // ready to send: an alternate is chosen and loaded
 *
 * With LW_PATHS_AUTOMATIC nothing more is needed: a thread loads the next alternate
 * after each migration and brings queue pairs back as the policy says.  With
 * LW_PATHS_MANUAL it only watches, and the program calls the modules.
 *
 * The thread reads the asynchronous events of the device.  Those that are not
 * about paths go to `other`; nobody else may call ibv_get_async_event.
 * Functions may be called from any thread, except from within a callback.
 * Link with -llanewise_paths; no MPI is needed.
 */
#ifndef LANEWISE_PATHS_H
#define LANEWISE_PATHS_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_paths lw_paths;

typedef enum lw_paths_policy {
    LW_PATHS_STAY,    /* where a migration has led */
    LW_PATHS_BACK,    /* to the port it started on, once that has been up for failback_delay_ns */
    LW_PATHS_BALANCE, /* to a port by its number, so that queue pairs spread over both */
} lw_paths_policy;

typedef enum lw_paths_initiative {
    LW_PATHS_AUTOMATIC, /* the thread loads alternates and returns */
    LW_PATHS_MANUAL,    /* the thread watches; the program calls the modules */
} lw_paths_initiative;

typedef enum lw_paths_notice {
    LW_PATHS_LOADED,
    LW_PATHS_ARMED,
    LW_PATHS_MIGRATED,
    LW_PATHS_REFUSED, /* no alternate could be loaded */
    LW_PATHS_ERROR,   /* the device raised PATH_MIG_ERR */
    LW_PATHS_PORT_DOWN,
    LW_PATHS_PORT_UP,
} lw_paths_notice;

/* Called by the thread; `qp` is NULL for notices of ports; `at_ns` is CLOCK_MONOTONIC. */
typedef void (*lw_paths_notice_fn)(void *context, lw_paths_notice notice, struct ibv_qp *qp,
                                   uint8_t port, int64_t at_ns);
/*
 * Receives one sentence about a failure: within the call that fails, or on the thread, of a load
 * that it tried by itself.
 */
typedef void (*lw_paths_report_fn)(void *context, lw_status status, const char *sentence);
/* Receives the events that are not about paths; they are acknowledged after it returns. */
typedef void (*lw_paths_event_fn)(void *context, const struct ibv_async_event *event);

typedef struct lw_paths_options {
    uint32_t struct_size; /* sizeof(lw_paths_options); lets fields be added */
    lw_paths_policy policy;
    lw_paths_initiative initiative;
    union {
        int64_t failback_delay_ns; /* how long a port must have been up before a return */
        int64_t quiet_ns;          /* its name in 0.1 */
    };
    int64_t settle_ns;     /* between a migration and the next load, for the peer to follow */
    const char *path_file; /* of `lanewise rdma discover`; NULL: hosts number their ports alike */
    lw_paths_notice_fn notice; /* these may be NULL */
    lw_paths_event_fn other;
    lw_paths_report_fn report;
    void *callback_context;
} lw_paths_options;

#define LW_PATHS_OPTIONS                                                                           \
    {                                                                                              \
        sizeof(lw_paths_options), LW_PATHS_BACK, LW_PATHS_AUTOMATIC, {1000000000}, 20000000, NULL, \
            NULL, NULL, NULL, NULL                                                                 \
    }

/* An alternate path: `address.port_num` is its port. */
typedef struct lw_path {
    uint32_t struct_size; /* sizeof(lw_path) */
    struct ibv_ah_attr address;
    uint16_t pkey_index;
    uint8_t timeout; /* 4.096 us * 2^timeout */
} lw_path;

typedef struct lw_paths_state {
    uint32_t struct_size; /* sizeof(lw_paths_state); lets fields be added */
    enum ibv_qp_state communication;
    enum ibv_mig_state path;
    uint8_t port;
    uint8_t alternate_port; /* 0: none loaded */
    uint8_t home_port;      /* where the policy wants it */
    int64_t since_ns;       /* CLOCK_MONOTONIC of the last change of `path` */
    uint64_t loads;
    uint64_t loads_refused;
    uint64_t armed;
    uint64_t migrations;
    uint64_t commanded; /* of the migrations, by this side */
    uint64_t returns;   /* of the migrations, back to the preferred port */
    uint64_t errors;
} lw_paths_state;

#define LW_PATHS_STATE \
    { sizeof(lw_paths_state), IBV_QPS_RESET, IBV_MIG_MIGRATED, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Watch the queue pairs of a device.  Stores the handle in `*paths`.
 * Fails with LW_ERR_UNSUPPORTED where the device cannot migrate paths,
 * LW_ERR_IO or LW_ERR_ARGUMENT for a path file that cannot be used,
 * LW_ERR_LIMIT where no descriptor or no thread is left.
 */
LW_API lw_status lw_paths_open(struct ibv_context *context, const lw_paths_options *options,
                               lw_paths **paths);

/*
 * End the thread.  Queue pairs keep the paths that they have.  A callback that is under way is
 * waited for, so hold no lock that a callback takes.  NULL is allowed.
 */
LW_API void lw_paths_close(lw_paths *paths);

/*
 * Watch a queue pair and record its state.  Call it again after each change of
 * the state.  If the thread is automatic and the queue pair ready to send, its
 * first alternate is loaded now.
 * Fails with LW_ERR_UNSUPPORTED for types without paths (not RC, not UC), with
 * LW_ERR_NOT_FOUND if there is no alternate; it is watched nevertheless.
 */
LW_API lw_status lw_paths_add(lw_paths *paths, struct ibv_qp *qp);

/*
 * Call this before the queue pair is destroyed.  No notice and no event about it comes afterwards:
 * a callback that is under way is waited for, so hold no lock that a callback takes.
 */
LW_API void lw_paths_remove(lw_paths *paths, struct ibv_qp *qp);

/*
 * Specify (PSM): the alternate for the next load; NULL: choose one.
 * Fails with LW_ERR_ARGUMENT for one that equals the primary path, names a
 * port that is not there or carries smaller packets.
 */
LW_API lw_status lw_paths_specify(lw_paths *paths, struct ibv_qp *qp, const lw_path *alternate);

/*
 * Load (LRM): ask for REARM with the alternate that was specified, or a chosen
 * one.  A queue pair is armed once the peer has also loaded a path and a packet
 * from it has arrived, which a notice and lw_paths_query report.  Devices accept
 * REARM in RTS, the software device also in RTR.  All queue pairs are tried; the
 * first failure is returned.
 */
LW_API lw_status lw_paths_load(lw_paths *paths, struct ibv_qp *const *qps, size_t count);

/*
 * Migrate (PMM), now.  Fails with LW_ERR_ARGUMENT for a queue pair that is not
 * armed, or is migrating already because of this call.  All queue pairs are
 * tried; the first failure is returned.
 */
LW_API lw_status lw_paths_migrate(lw_paths *paths, struct ibv_qp *const *qps, size_t count);

/* Query a queue pair.  Stores its state in `*state`. */
LW_API lw_status lw_paths_query(lw_paths *paths, struct ibv_qp *qp, lw_paths_state *state);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_PATHS_H */
