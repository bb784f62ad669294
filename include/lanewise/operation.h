/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operation: what is measured.
 *
 * An operation is one of the MPI's own by name, any function with the MPI's
 * signature, three callbacks of the user's, or a symbol in a shared object.
 * `message_bytes` means the block of one rank for scatter, gather, allgather,
 * alltoall and reduce_scatter, and the whole vector for bcast, reduce,
 * allreduce, scan and exscan. Reductions add floats: their sizes are multiples
 * of four bytes. For pingpong it is one message, and the time is half a round trip.
 * For streaming operations (streaming, bidirectional, pairs_rate, peers_rate) the
 * time is that of one message.
 *
 * The functions that return a status fail with LW_ERR_ARGUMENT for a NULL where they take none, and
 * with LW_ERR_MEMORY where there is no memory.
 */
#ifndef LANEWISE_OPERATION_H
#define LANEWISE_OPERATION_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_operation lw_operation;

typedef int (*lw_scatter_fn)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int,
                             MPI_Comm);
typedef int (*lw_scatterv_fn)(const void *, const int *, const int *, MPI_Datatype, void *, int,
                              MPI_Datatype, int, MPI_Comm);
typedef int (*lw_gather_fn)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int,
                            MPI_Comm);
typedef int (*lw_gatherv_fn)(const void *, int, MPI_Datatype, void *, const int *, const int *,
                             MPI_Datatype, int, MPI_Comm);
typedef int (*lw_bcast_fn)(void *, int, MPI_Datatype, int, MPI_Comm);
typedef int (*lw_reduce_fn)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int (*lw_allreduce_fn)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int (*lw_allgather_fn)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
                               MPI_Comm);
typedef int (*lw_alltoall_fn)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
typedef int (*lw_barrier_fn)(MPI_Comm);

/*
 * An operation that calls `function`, or the MPI's own if it is NULL.
 * Free with lw_operation_free.  NULL is returned only if there is no memory.
 */
LW_API lw_operation *lw_operation_scatter(lw_scatter_fn function);
LW_API lw_operation *lw_operation_scatterv(lw_scatterv_fn function);
LW_API lw_operation *lw_operation_gather(lw_gather_fn function);
LW_API lw_operation *lw_operation_gatherv(lw_gatherv_fn function);
LW_API lw_operation *lw_operation_bcast(lw_bcast_fn function);
LW_API lw_operation *lw_operation_reduce(lw_reduce_fn function);
LW_API lw_operation *lw_operation_allreduce(lw_allreduce_fn function);
LW_API lw_operation *lw_operation_allgather(lw_allgather_fn function);
LW_API lw_operation *lw_operation_alltoall(lw_alltoall_fn function);
LW_API lw_operation *lw_operation_barrier(lw_barrier_fn function);

/*
 * The MPI's own operation called `name`: "scatter", "iallreduce", "pingpong".
 * Fails with LW_ERR_NOT_FOUND for any other name, LW_ERR_UNSUPPORTED for one that this MPI lacks.
 */
LW_API lw_status lw_operation_named(const char *name, lw_operation **operation);

/* The names lw_operation_named knows, in order; NULL past the end. */
LW_API const char *lw_operation_name(size_t index);

/*
 * A user operation.  `setup` runs once before each batch of repetitions and
 * may store its state in `*state`; `execute` is what is timed; `teardown`
 * frees the state.  `setup` and `teardown` may be NULL.  A callback returns
 * zero for success.  `context` is passed to `setup` unchanged.
 * A failure of `setup` or `execute` on one rank ends the measurement on all ranks with
 * LW_ERR_OPERATION; that of `execute` after the batch of repetitions.  Until then every rank goes
 * on executing, since the others may wait for its messages: an operation that communicates fails
 * after it has communicated.
 */
typedef struct lw_operation_callbacks {
    uint32_t struct_size; /* sizeof(lw_operation_callbacks) */
    const char *name;
    int (*setup)(void *context, MPI_Comm comm, int root, uint64_t message_bytes, void **state);
    int (*execute)(void *state);
    void (*teardown)(void *state);
    void *context;
} lw_operation_callbacks;

/* Fails with LW_ERR_ARGUMENT for another struct_size, and without a name or `execute`. */
LW_API lw_status lw_operation_user(const lw_operation_callbacks *callbacks,
                                   lw_operation **operation);

/*
 * A user operation from a shared object: "libmine.so:my_scatter", where the
 * symbol is an object of type lw_operation_callbacks.
 * Fails with LW_ERR_NOT_FOUND, and as lw_operation_user for what the object is; `text_bytes` of the
 * reason go to `text` if not NULL.
 */
LW_API lw_status lw_operation_load(const char *library_and_symbol, char *text, size_t text_bytes,
                                   lw_operation **operation);

/*
 * For the v-operations: rank i moves message_bytes * weights[i], rounded down.
 * `count` must equal the size of the communicator measured on.  Copied.  Fails with
 * LW_ERR_UNSUPPORTED for other operations, LW_ERR_ARGUMENT for a weight that is not 0 or above.
 */
LW_API lw_status lw_operation_weights(lw_operation *operation, const double *weights, size_t count);

/*
 * For streaming operations: how many messages are in flight at once; 160 unless set.
 * The receiver has buffers for that many messages.  Fails with LW_ERR_UNSUPPORTED for other
 * operations, LW_ERR_ARGUMENT below 1.
 */
LW_API lw_status lw_operation_window(lw_operation *operation, int messages);

LW_API void lw_operation_free(lw_operation *operation);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_OPERATION_H */
