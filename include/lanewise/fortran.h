/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran: what the modules of <lanewise/lanewise.f90> call, with MPI's handles as integers.
 *
 * A program in another language that holds MPI's handles as Fortran does may call these as well.
 */
#ifndef LANEWISE_FORTRAN_H
#define LANEWISE_FORTRAN_H

#include <mpi.h>
#include <stdint.h>

#include <lanewise/collectives.h>
#include <lanewise/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The arguments of a collective. What a collective does not have is null or 0; its types are
 * MPI_DATATYPE_NULL and its operator is MPI_OP_NULL. A broadcast has its buffer in `receive`.
 */
typedef struct lw_fortran_call {
    uint32_t struct_size; /* sizeof(lw_fortran_call) */
    MPI_Fint send_count;
    MPI_Fint send_type;
    MPI_Fint receive_count;
    MPI_Fint receive_type;
    MPI_Fint op;
    MPI_Fint root;
    MPI_Fint comm;
    const void *send;
    void *receive;
    const int *counts; /* of the v-forms and reduce_scatter */
    const int *displacements;
} lw_fortran_call;

/* Carries out the collective `name`, such as "bcast", as the function of <lanewise/collectives.h>
   does, and fails as it does; with LW_ERR_ARGUMENT also for alltoallv and alltoallw, which have
   more arguments, for neighbourhood collectives, and for another name or struct_size. */
LW_API lw_status lw_collective_fortran(const char *name, const lw_fortran_call *call,
                                       const lw_algorithm *algorithm);
LW_API lw_status lw_icollective_fortran(const char *name, const lw_fortran_call *call,
                                        const lw_algorithm *algorithm, lw_pending **pending);

/* The value of MPI_IN_PLACE in C, for `send` and `receive`; Fortran has a variable of that name. */
LW_API void *lw_in_place_fortran(void);

/* lw_measure for a communicator of Fortran. */
LW_API lw_status lw_measure_fortran(MPI_Fint comm, const lw_operation *operation, int root,
                                    const uint64_t *sizes_bytes, size_t count,
                                    const lw_measure_options *options, lw_samples **samples);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_FORTRAN_H */
