/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: MPI's collective operations by an algorithm that the program chooses.
 *
 *     lw_algorithm *binomial = NULL;
 *     lw_algorithm_named("scatter", "binomial", 0, &binomial);
 *     lw_scatter(send, 1, MPI_DOUBLE, receive, 1, MPI_DOUBLE, 0, comm, binomial);
 *     lw_algorithm_free(binomial);
 *
 * Each function takes the arguments of the MPI function of its name, with the
 * same meaning, MPI_IN_PLACE and derived types included, and an algorithm of
 * that collective. All ranks name the same algorithm and segment. A schedule is
 * built at the first call of a shape and stored with the communicator. A count
 * below 0, a root that is no rank, or an array that is not there where it is
 * significant is LW_ERR_ARGUMENT on the rank that gives it, and nothing is sent.
 * An intercommunicator is LW_ERR_ARGUMENT on all ranks.
 *
 * LW_ERR_UNSUPPORTED, on all ranks, means that the algorithm cannot serve the
 * call (its operator does not commute, the number of ranks does not fit, it
 * needs more scratch memory than allowed, or there are more than 512
 * communicators with such calls). Nothing was sent, and another algorithm or the
 * MPI's own can be called instead. Where LW_ERR_MPI is returned, the buffers that
 * are received into may have been written.
 */
#ifndef LANEWISE_COLLECTIVES_H
#define LANEWISE_COLLECTIVES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_algorithm lw_algorithm;

/*
 * The algorithm `name` of `collective` ("scatter", "allreduce", ...), with
 * segments of `segment_bytes`, or of its own choice for 0. Fails with
 * LW_ERR_NOT_FOUND. Free with lw_algorithm_free; calls in flight do not need it.
 */
LW_API lw_status lw_algorithm_named(const char *collective, const char *name,
                                    uint64_t segment_bytes, lw_algorithm **algorithm);
LW_API void lw_algorithm_free(lw_algorithm *algorithm);

/* What the bits of a reduction may depend on; docs/same-bits.md defines both levels. */
typedef enum lw_bits {
    LW_BITS_ANY,   /* on the algorithm, the size, the root and the MPI */
    LW_BITS_ORDER, /* on the operands and the number of ranks only: `order` */
    LW_BITS_RANKS, /* on the numbers only, on however many ranks they are: `ranks` */
} lw_bits;

typedef struct lw_algorithm_options {
    uint32_t struct_size; /* sizeof(lw_algorithm_options); lets fields be added */
    lw_bits bits;
    uint64_t segment_bytes; /* 0: of its own choice */
    /* Called with each failure to make the algorithm or a call by it, on the rank that has it, but
       with LW_ERR_UNSUPPORTED of a call on rank 0 of its communicator only. Failures of
       lw_pending_test and lw_pending_wait have their status only. May be NULL. */
    lw_report_fn report;
    void *report_context;
} lw_algorithm_options;

#define LW_ALGORITHM_OPTIONS \
    { sizeof(lw_algorithm_options), LW_BITS_ANY, 0, NULL, NULL }

/*
 * The same with options; NULL: the defaults. With LW_BITS_ORDER contributions
 * are combined in one bracketing, and sums, products, maxima and minima of
 * doubles, floats and their complex types are computed as under
 * `lanewise run --same-bits order`, whatever rounding the program has chosen.
 * `name` may be NULL then: the algorithm is chosen by size and number of ranks.
 *
 * With LW_BITS_RANKS, reduce and allreduce, blocking or not, and reduce_scatter
 * add and multiply doubles, floats and their complex types exactly: each result
 * is the number nearest to the exact one, in both parts. Maxima and
 * minima of doubles and floats, also of scans, have the bits of LW_BITS_ORDER;
 * integers and bitwise operators always give the same bits. A call with another type, operator
 * or collective fails with LW_ERR_UNSUPPORTED on every rank, and nothing is
 * sent. The algorithm and its segments are the library's choice.
 *
 * Fails with LW_ERR_NOT_FOUND; with LW_ERR_UNSUPPORTED for bits of a collective
 * that reduces nothing, for LW_BITS_ORDER and an algorithm of another
 * bracketing, and for LW_BITS_RANKS and a name or a segment; with
 * LW_ERR_ARGUMENT for another struct_size or value, or no name for LW_BITS_ANY.
 */
LW_API lw_status lw_algorithm_with(const char *collective, const char *name,
                                   const lw_algorithm_options *options, lw_algorithm **algorithm);

/* The collective and the name of the algorithm at `index`; NULL past the end of the list. Of the
   trees knomial:2 to knomial:64, which all have names, it has a few. */
LW_API const char *lw_algorithm_collective(size_t index);
LW_API const char *lw_algorithm_name(size_t index);

LW_API lw_status lw_barrier(MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                          const lw_algorithm *algorithm);
LW_API lw_status lw_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                            const lw_algorithm *algorithm);
LW_API lw_status lw_scatterv(const void *send, const int *counts, const int *displacements,
                             MPI_Datatype send_type, void *receive, int receive_count,
                             MPI_Datatype receive_type, int root, MPI_Comm comm,
                             const lw_algorithm *algorithm);
LW_API lw_status lw_gather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                           int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                           const lw_algorithm *algorithm);
LW_API lw_status lw_gatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                            const int *counts, const int *displacements, MPI_Datatype receive_type,
                            int root, MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_allgather(const void *send, int send_count, MPI_Datatype send_type,
                              void *receive, int receive_count, MPI_Datatype receive_type,
                              MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_allgatherv(const void *send, int send_count, MPI_Datatype send_type,
                               void *receive, const int *counts, const int *displacements,
                               MPI_Datatype receive_type, MPI_Comm comm,
                               const lw_algorithm *algorithm);
LW_API lw_status lw_alltoall(const void *send, int send_count, MPI_Datatype send_type,
                             void *receive, int receive_count, MPI_Datatype receive_type,
                             MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_alltoallv(const void *send, const int *send_counts,
                              const int *send_displacements, MPI_Datatype send_type, void *receive,
                              const int *counts, const int *displacements,
                              MPI_Datatype receive_type, MPI_Comm comm,
                              const lw_algorithm *algorithm);
LW_API lw_status lw_alltoallw(const void *send, const int *send_counts,
                              const int *send_displacements_bytes, const MPI_Datatype *send_types,
                              void *receive, const int *counts, const int *displacements_bytes,
                              const MPI_Datatype *receive_types, MPI_Comm comm,
                              const lw_algorithm *algorithm);
LW_API lw_status lw_reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                           int root, MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_allreduce(const void *send, void *receive, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_reduce_scatter(const void *send, void *receive, const int *counts,
                                   MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                   const lw_algorithm *algorithm);
LW_API lw_status lw_scan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, const lw_algorithm *algorithm);
LW_API lw_status lw_exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm, const lw_algorithm *algorithm);

/*
 * The same without waiting, for the collectives in which no rank needs another's
 * counts first. The buffers belong to the call until lw_pending_wait returns, and
 * so do the operator and the datatype of a reduction by an operator of the
 * program: free them afterwards. The call makes progress only inside
 * lw_pending_test and lw_pending_wait.
 *
 * The first call by these functions on a communicator, waited for or not, waits
 * for all of its ranks, which make a duplicate of it for their messages. Where a
 * call without waiting must not do that, make a blocking one before, such as
 * lw_barrier.
 */
typedef struct lw_pending lw_pending;

LW_API lw_status lw_ibarrier(MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                           const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_iscatter(const void *send, int send_count, MPI_Datatype send_type,
                             void *receive, int receive_count, MPI_Datatype receive_type, int root,
                             MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_igather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                            const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_iallgather(const void *send, int send_count, MPI_Datatype send_type,
                               void *receive, int receive_count, MPI_Datatype receive_type,
                               MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_ialltoall(const void *send, int send_count, MPI_Datatype send_type,
                              void *receive, int receive_count, MPI_Datatype receive_type,
                              MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_ireduce(const void *send, void *receive, int count, MPI_Datatype type,
                            MPI_Op op, int root, MPI_Comm comm, const lw_algorithm *algorithm,
                            lw_pending **pending);
LW_API lw_status lw_iallreduce(const void *send, void *receive, int count, MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm, const lw_algorithm *algorithm,
                               lw_pending **pending);
LW_API lw_status lw_iscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending);
LW_API lw_status lw_iexscan(const void *send, void *receive, int count, MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm, const lw_algorithm *algorithm,
                            lw_pending **pending);

/* Stores in `*done` whether the call is complete; it must still be ended by lw_pending_wait. */
LW_API lw_status lw_pending_test(lw_pending *pending, int *done);
/* Completes the call, frees `*pending` and sets it to NULL, also where the call fails. */
LW_API lw_status lw_pending_wait(lw_pending **pending);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_COLLECTIVES_H */
