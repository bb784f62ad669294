/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wavefront on ranks: sweeps over the parts of a store, one part on each rank of an MPI job.
 * lw_wavefront_split or `lanewise wavefront split` makes the parts, and `join` puts them together.
 *
 *     lw_wavefront *part = NULL;
 *     lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
 *     lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
 *     kernel.update = my_row;
 *     options.iterations = 500;
 *     lw_status status = lw_wavefront_open(my_folder, NULL, NULL, &part);
 *     if (status == LW_OK)
 *         status = lw_wavefront_run_kernel_on_ranks(comm, part, &kernel, &options, NULL);
 *     if (status != LW_OK) MPI_Abort(comm, 1);
 *     lw_wavefront_close(part);
 *
 * For built-in kernels there is a program, too: lanewise-wavefront-ranks.
 */
#ifndef LANEWISE_WAVEFRONT_RANKS_H
#define LANEWISE_WAVEFRONT_RANKS_H

#include <mpi.h>

#include <lanewise/wavefront.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Iterate with a kernel of your own over all parts.  Every rank of `comm`, an intracommunicator,
 * calls this together, each with its own part: rank r with the r-th of those that were split for as
 * many ranks and for the kernel's stencil radius.  The kernel and the options are the same on all
 * ranks, but for `threads` and `memory_bytes`; `row` counts the rows of the whole store, whose
 * borders `borders` are.  Iterations go down and right, and rows are not periodic; `paused`,
 * `pause_every`, `until`, `rtol` and `atol` are refused.  `outcome` is of the own part.
 *
 * A thread of the library calls MPI meanwhile, so the MPI must serve MPI_THREAD_SERIALIZED, and
 * neither the kernel nor a callback calls MPI.  What cannot be run is refused on all ranks, but for
 * a part that another call writes or runs, which its own rank alone refuses.  A rank that fails
 * later, or that lw_wavefront_stop ends, leaves the others waiting for its rows: stop all ranks, or
 * end the job by MPI_Abort.
 */
LW_API lw_status lw_wavefront_run_kernel_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                                  const lw_wavefront_kernel *kernel,
                                                  const lw_wavefront_run_options *options,
                                                  lw_wavefront_outcome *outcome);

/*
 * Go on with such a run after ranks were killed; the kernel has the name that it had.  `iterations`
 * and `tolerance` are not looked at.  LW_ERR_NOT_FOUND where there is none, or where the last start
 * did not reach all ranks: begin one.
 */
LW_API lw_status lw_wavefront_resume_kernel_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                                     const lw_wavefront_kernel *kernel,
                                                     const lw_wavefront_run_options *options,
                                                     lw_wavefront_outcome *outcome);

/* Iterate with the built-in kernel `name`, likewise; no parameters mean its defaults. */
LW_API lw_status lw_wavefront_run_on_ranks(MPI_Comm comm, lw_wavefront *part, const char *name,
                                           const double *parameters, size_t count,
                                           const lw_wavefront_run_options *options,
                                           lw_wavefront_outcome *outcome);

/* Go on with a run of a built-in kernel, as lw_wavefront_resume_kernel_on_ranks does. */
LW_API lw_status lw_wavefront_resume_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                              const lw_wavefront_run_options *options,
                                              lw_wavefront_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_WAVEFRONT_RANKS_H */
