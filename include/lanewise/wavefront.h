/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wavefront: sweeps over matrices larger than memory.
 *
 * A store is a folder of matrices of one shape.  A run streams them through
 * memory while many iterations, each one wave, follow each other down the
 * rows; the data end up bit for bit as the sequential loop would leave them.
 *
 *     double omega = 1.9;
 *     lw_wavefront *store = NULL;
 *     lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;
 *     lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
 *     options.iterations = 500;
 *     options.memory_bytes = 2ull << 30;
 *     lw_status status = lw_wavefront_open("problem", NULL, NULL, &store);
 *     if (status == LW_OK) status = lw_wavefront_run(store, "sor", &omega, 1, &options, &outcome);
 *     lw_wavefront_close(store);
 *
 * A program that is killed at any moment loses at most the current pass over
 * the disk.  Calls on one store come from one thread at a time; other programs
 * are kept out by a lock.  No function here needs MPI.
 */
#ifndef LANEWISE_WAVEFRONT_H
#define LANEWISE_WAVEFRONT_H

#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_wavefront lw_wavefront; /* an open store */

typedef enum lw_element {
    LW_ELEMENT_F32,
    LW_ELEMENT_F64,
    LW_ELEMENT_C64,
    LW_ELEMENT_C128,
    LW_ELEMENT_I32, /* int32_t */
    LW_ELEMENT_I64, /* int64_t */
    LW_ELEMENT_F16  /* binary16 of IEEE 754: _Float16 where the compiler has it, else uint16_t */
} lw_element;

/* Names of layouts; others are refused with those that there are. */
#define LW_LAYOUT_ROW_MAJOR "row-major" /* for kernels of your own, and for Jacobi */
#define LW_LAYOUT_SKEWED "skewed"       /* eight rows per vector: for built-in in-place kernels */
#define LW_LAYOUT_BLOCK "block"         /* squares side by side, as other programs have them */
#define LW_LAYOUT_FRONTIER "frontier"   /* the same with their frontiers apart */

typedef struct lw_wavefront_shape {
    uint32_t struct_size; /* sizeof(lw_wavefront_shape); lets fields be added */
    lw_element element;
    const char *layout;  /* its name; NULL: row-major */
    uint32_t data_count; /* matrices that the sweep updates */
    uint32_t coefficient_count;
    uint64_t rows;
    uint64_t columns;
    uint64_t strip_rows;   /* rows that move together; 0: a mebibyte of them */
    uint64_t tile_columns; /* columns that move together, where rows are long; 0: all */
    /* In three dimensions each row is a plane of lines one behind the other, so many columns each,
     * and `columns` is their product: n0 x n1 x n2 cells are n0 rows of n1 n2 columns, in lines of
     * n2.  0: there are two dimensions. */
    uint64_t line_columns;
    /* Coefficients that are one value for each row, or one for each column, for kernels of your own
     * in two dimensions. */
    uint32_t row_coefficient_count;
    uint32_t column_coefficient_count;
} lw_wavefront_shape;

#define LW_WAVEFRONT_SHAPE \
    { sizeof(lw_wavefront_shape), LW_ELEMENT_F64, LW_LAYOUT_ROW_MAJOR, 1, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Receives one sentence about a failure. */
typedef void (*lw_wavefront_report_fn)(void *context, lw_status status, const char *sentence);

/*
 * Make an empty store in a new folder.  Matrices are called data0, data1, ...,
 * coefficient0, ..., and are numbered in that order.  Behind them come row0, row1, ..., the
 * coefficients by row, and column0, ..., those by column: in the functions below they are matrices
 * of one column, and of one row.
 */
LW_API lw_status lw_wavefront_create(const char *folder, const lw_wavefront_shape *shape,
                                     lw_wavefront_report_fn report, void *report_context,
                                     lw_wavefront **store);

/*
 * The same, the matrices having the names in `names`, in the order of their numbers: letters,
 * digits, _ and -.  NULL: those above.
 */
LW_API lw_status lw_wavefront_create_named(const char *folder, const lw_wavefront_shape *shape,
                                           const char *const *names, lw_wavefront_report_fn report,
                                           void *report_context, lw_wavefront **store);

/*
 * Make an empty store in memory, which is gone once it is closed.  It takes the memory of two
 * copies of the data matrices and one of the coefficients, beside the budgets of runs.
 */
LW_API lw_status lw_wavefront_create_in_memory(const lw_wavefront_shape *shape,
                                               const char *const *names,
                                               lw_wavefront_report_fn report, void *report_context,
                                               lw_wavefront **store);

/* Open a store for changing.  Fails with LW_ERR_LIMIT while another program changes it. */
LW_API lw_status lw_wavefront_open(const char *folder, lw_wavefront_report_fn report,
                                   void *report_context, lw_wavefront **store);

/*
 * Open a store for reading, also while another program changes it: what is read is the generation
 * that is committed now.  A run waits before it replaces that, until the store is closed.
 * Functions that change a store refuse this one with LW_ERR_ARGUMENT.
 */
LW_API lw_status lw_wavefront_open_reading(const char *folder, lw_wavefront_report_fn report,
                                           void *report_context, lw_wavefront **store);

/*
 * Close a store and free it. NULL is allowed. Do not call this while another call on the store is
 * under way, nor from one of its callbacks.
 */
LW_API void lw_wavefront_close(lw_wavefront *store);

/*
 * The shape of the store, and how many iterations its data have gone through.  Members that the
 * caller's `struct_size` does not cover are left alone.
 */
LW_API lw_status lw_wavefront_query(const lw_wavefront *store, lw_wavefront_shape *shape,
                                    uint64_t *iterations);

/* Fills or takes `row_count` rows from `first_row` on, in row-major order; non-zero ends it. */
typedef int (*lw_wavefront_source_fn)(void *context, uint64_t first_row, uint64_t row_count,
                                      void *rows);
typedef int (*lw_wavefront_sink_fn)(void *context, uint64_t first_row, uint64_t row_count,
                                    const void *rows);

/* Replace matrix `matrix`, rows coming in order from `source`: all of it, or none. */
LW_API lw_status lw_wavefront_write(lw_wavefront *store, uint32_t matrix,
                                    lw_wavefront_source_fn source, void *context);

/* Hand all rows of matrix `matrix` to `sink`, in order, checksums checked. */
LW_API lw_status lw_wavefront_read(const lw_wavefront *store, uint32_t matrix,
                                   lw_wavefront_sink_fn sink, void *context);

/*
 * Copy `row_count` rows of matrix `matrix`, from `first_row` on, to `rows` in row-major order,
 * checksums checked.  Only strips that hold them are read from the disk.  Where this fails, `rows`
 * may hold some of them.
 */
LW_API lw_status lw_wavefront_read_rows(const lw_wavefront *store, uint32_t matrix,
                                        uint64_t first_row, uint64_t row_count, void *rows);

/* The number of the matrix called `name`; LW_ERR_NOT_FOUND, with the names that there are. */
LW_API lw_status lw_wavefront_matrix_named(const lw_wavefront *store, const char *name,
                                           uint32_t *matrix);

/* The name of matrix `matrix`, until the store is closed; NULL where there is none. */
LW_API const char *lw_wavefront_matrix_name(const lw_wavefront *store, uint32_t matrix);

/* Called now and then while matrices are moved. */
typedef void (*lw_wavefront_moved_fn)(void *context, uint64_t bytes_done, uint64_t bytes_wanted);

/*
 * Copy the store into the new store `folder`, in the layout, strips and tiles of `shape`, whose
 * other members are not looked at; 0 strip_rows are as many as the store has.  An unfinished run is
 * copied, too, but a part with iterations left of one with others is refused.  Nothing is left
 * where this fails.  `moved` may be NULL.
 */
LW_API lw_status lw_wavefront_convert(const lw_wavefront *store, const char *folder,
                                      const lw_wavefront_shape *shape, uint64_t memory_bytes,
                                      lw_wavefront_moved_fn moved, void *context);

/*
 * Cut the store by rows into `count` new ones, one for each rank of a job: the part in folders[r]
 * is for rank r.  It holds its share of the rows and, of each neighbour, `radius` rows: the stencil
 * radius of the kernel that will run on the parts; 0: of the kernel that the store was made for, or
 * else 1.  An unfinished run goes with them.  `moved` is as for lw_wavefront_convert.  Nothing is
 * left where this fails, as where the store has coefficients by row or column.
 */
LW_API lw_status lw_wavefront_split(const lw_wavefront *store, uint64_t radius,
                                    const char *const *folders, uint32_t count,
                                    lw_wavefront_moved_fn moved, void *context);

/*
 * Put all `count` parts of a store, in the order of their ranks, together in the new store
 * `folder`. They must have gone through the same iterations, and an unfinished run comes back with
 * them. `moved` is as above; failures are reported by the first part, and lw_wavefront_stop of that
 * one ends the call.  Nothing is left where this fails.
 */
LW_API lw_status lw_wavefront_join(const lw_wavefront *const *parts, uint32_t count,
                                   const char *folder, lw_wavefront_moved_fn moved, void *context);

/* Check every strip.  Fails with LW_ERR_IO where some are damaged; each is reported by name. */
LW_API lw_status lw_wavefront_verify(const lw_wavefront *store);

/*
 * A kernel of your own: updates columns first to end - 1 of row `row`.
 *
 * `data` holds 2 radius + 1 rows of each data matrix, topmost first, all rows of the first
 * matrix before those of the second; `coefficients` the row of each coefficient matrix, and behind
 * them the address of the row's value of each coefficient by row, and of the first value of each
 * coefficient by column; `updated` the row to write of each data matrix.  With LW_READS_UPDATED the
 * middle row of `data` is the row in `updated`, and the rows above are new already, but for the
 * residual of `until`: there all of `data` is as it is, so read it, and only write to `updated`;
 * with LW_READS_PREVIOUS all of `data` is as the iteration before left it.  Called from several
 * threads at once, for different rows.  Compile it with -ffp-contract=off where its bits must not
 * depend on the compiler.
 */
typedef void (*lw_wavefront_row_fn)(void *const *updated, const void *const *data,
                                    const void *const *coefficients, int64_t row, int64_t first,
                                    int64_t end, void *context);

/*
 * The same, told which iteration of the run it is, from 0 (a run that is resumed counts on), and in
 * which direction it goes: where `right` is -1, update the columns from end - 1 down to first;
 * where `down` is -1, rows come from the last to the first, and those below are new.  Rows in
 * `data` are topmost first either way.
 */
typedef void (*lw_wavefront_directed_row_fn)(void *const *updated, const void *const *data,
                                             const void *const *coefficients, int64_t row,
                                             int64_t first, int64_t end, int64_t iteration,
                                             int64_t down, int64_t right, void *context);

/* Which plane of a store in three dimensions is updated, and how. */
typedef struct lw_wavefront_plane {
    uint32_t struct_size; /* set by the library: it has no members beyond this size */
    int64_t plane;        /* its number in the store, from 0 */
    int64_t lines;        /* of a plane, each behind the one before */
    int64_t columns;      /* cells of a line */
    int64_t iteration;    /* of the run, from 0; a run that is resumed counts on */
    int64_t down;         /* -1: planes come from the last to the first, else 1 */
    int64_t back;         /* -1: update the lines from the last to the first */
    int64_t right;        /* -1: update the cells of each line from the last to the first */
} lw_wavefront_plane;

/*
 * A kernel of your own for three dimensions: updates the cells of a plane that are the radius or
 * more away from all faces, line j being `columns` cells from j * columns on.  The planes are given
 * as rows are above.
 */
typedef void (*lw_wavefront_plane_fn)(void *const *updated, const void *const *data,
                                      const void *const *coefficients,
                                      const lw_wavefront_plane *plane, void *context);

/*
 * What a kernel of a skewed store does: `step` is a lanewise::wavefront::Step of
 * <lanewise/wavefront/row_block.hpp>.  <lanewise/wavefront.hpp> makes such functions from a cell
 * update.
 */
typedef void (*lw_wavefront_step_fn)(const void *context, const void *step);

typedef enum lw_reads { LW_READS_UPDATED, LW_READS_PREVIOUS } lw_reads;

typedef struct lw_wavefront_kernel {
    uint32_t struct_size;
    uint32_t radius; /* rows and columns around a cell that it reads, 1 to 8 */
    lw_reads reads;
    int watch_writes; /* non-zero: a kernel that writes outside its columns ends the run */
    lw_wavefront_row_fn update;
    void *context;
    const char *name;                         /* asked for by resume; NULL: "kernel" */
    lw_wavefront_step_fn advance;             /* NULL: works on row-major stores only */
    lw_wavefront_step_fn advance_and_measure; /* with the change of each wave */
    uint32_t skew; /* of the row blocks that the steps work on, 1 to radius + 1 */
    lw_wavefront_directed_row_fn update_directed; /* instead of `update`; NULL: goes one way only */
    lw_wavefront_plane_fn update_plane; /* instead of both, in three dimensions; may be NULL */
    int steps_turn; /* non-zero: the steps go in the direction that their row blocks say */
} lw_wavefront_kernel;

#define LW_WAVEFRONT_KERNEL                                                                   \
    {                                                                                         \
        sizeof(lw_wavefront_kernel), 1, LW_READS_UPDATED, 0, NULL, NULL, NULL, NULL, NULL, 1, \
            NULL, NULL, 0                                                                     \
    }

typedef struct lw_wavefront_progress {
    uint32_t struct_size;     /* set by the library: it has no members beyond this size */
    uint64_t iterations_done; /* in whole passes */
    uint64_t iterations_wanted;
    uint64_t waves; /* iterations under way in this pass */
    uint64_t strips_done;
    uint64_t strip_count;
    double elapsed_s;
} lw_wavefront_progress;

/*
 * End the call under way on `store`: it fails with LW_ERR_OPERATION.  A run ends within a row block
 * of a wave, with a kernel of your own within a row, and commits nothing more, so the store holds
 * the data of the last whole pass.  Reading, writing and checking end within a strip.  May be
 * called from another thread, from the kernel, from `progress` and from a signal handler.  A call
 * that begins afterwards is not ended.
 */
LW_API void lw_wavefront_stop(lw_wavefront *store);

/* Called now and then from the thread that runs. */
typedef void (*lw_wavefront_progress_fn)(void *context, const lw_wavefront_progress *progress);

/*
 * Called between two iterations, the store holding their data: lw_wavefront_read may be called.
 * Writing to the store and running it fail, here and in other callbacks of a write or a run.
 * `iterations` are those of the run; `measured` is what `until` asked for, else not a number.
 * Non-zero ends the run with LW_ERR_OPERATION; resume continues it.
 */
typedef int (*lw_wavefront_pause_fn)(void *context, uint64_t iterations, double measured);

typedef struct lw_wavefront_run_options {
    uint32_t struct_size;
    uint32_t threads; /* 0: the processors this program may use, within its quota of CPU time */
    uint64_t iterations;
    uint64_t memory_bytes; /* never exceeded; too small a budget is refused with the least one */
    uint64_t waves;        /* iterations per pass; 0: chosen */
    double tolerance;      /* stop when no cell changes by more; 0: by anything; -1: never */
    int check_finite;      /* non-zero: end at the first value that is not finite */
    lw_wavefront_progress_fn progress; /* may be NULL */
    void *progress_context;
    const char *directions; /* of the iterations; NULL: all go down and right */
    /*
     * "residual<1e-8" ends the run once that holds, "residual<1e-8*first" once the residual is that
     * share of the first one.  The residual is the 2-norm of what an iteration would change if all
     * of it read the data as they are; others are norm (the 2-norm), sum, max and min of the data.
     * Asked after every `pause_every` iterations and after the last.  NULL: never.
     */
    const char *until;
    /* Iterations between two pauses; 0: 32 with a condition (until, rtol, atol) or `paused`, else
     * there are none.  A run that is resumed pauses as it did before, whatever is given; one that
     * had no pauses as these options say. */
    uint64_t pause_every;
    lw_wavefront_pause_fn paused; /* may be NULL */
    void *paused_context;
    const char *borders; /* of the data; NULL: all are fixed */
    /*
     * Where one is above 0, the run ends once the residual is at most max(rtol * first, atol),
     * `first` being the residual before the first iteration; asked as `until` is, and instead of
     * it.
     */
    double rtol;
    double atol;
    double read_bytes_per_s; /* of the disk; 0: not known, as the next two */
    double write_bytes_per_s;
    double cells_per_s; /* of the kernel, on all threads */
} lw_wavefront_run_options;

#define LW_WAVEFRONT_RUN_OPTIONS                                                                   \
    {                                                                                              \
        sizeof(lw_wavefront_run_options), 0, 1, 1ull << 30, 0, -1.0, 0, NULL, NULL, NULL, NULL, 0, \
            NULL, NULL, NULL, 0.0, 0.0, 0.0, 0.0, 0.0                                              \
    }

/*
 * Directions, separated by commas: iteration i of a run goes in direction i of them, and after the
 * last comes the first again.  Each is the corner towards which an iteration goes: "down-right",
 * "down-left", "up-left" or "up-right".  "symmetric" stands for "down-right,up-left" (symmetric
 * Gauss-Seidel, SSOR) and "fast-sweeping" for "down-right,down-left,up-left,up-right".  In three
 * dimensions, built-in kernels and those with `update_plane` also go from the last line of each
 * plane to the first: "down-back-right", "down-back-left", "up-back-left" and "up-back-right";
 * "symmetric-3d" stands for "down-right,up-back-left" and "fast-sweeping-3d" for all eight.
 * Iterations share a pass as long as they go down, or up.  With a tolerance and d directions, the
 * run ends once no cell has changed by more than the tolerance in d iterations in a row.
 */

/*
 * Borders, as many rows or columns wide as the stencil radius: "fixed" ones keep their values,
 * "neumann" ones mirror the cells beside them, the wall being between the two, and "periodic" ones
 * are what lies inside of the opposite border.  "neumann" is for all sides; "left=neumann" and so
 * on, separated by commas, for some, out of top, bottom, left, right, rows (top and bottom) and
 * columns.  A border column is set as soon as the rest of its row has been updated, a border row,
 * with its corners, when all rows have been; all of them before the first iteration.  With
 * periodic rows each pass has one wave.  In three dimensions rows are planes, whose sides are also
 * front and back, the first and last lines, or lines (front and back).  Not for stores in tiles.
 */

typedef struct lw_wavefront_outcome {
    uint32_t struct_size; /* sizeof(lw_wavefront_outcome); lets fields be added */
    uint64_t iterations;
    int converged;
    double last_change; /* largest change of a cell in the last iteration, with a tolerance */
    uint64_t waves;
    uint64_t read_bytes;
    uint64_t written_bytes;
    uint64_t peak_memory_bytes; /* of the whole program */
    double elapsed_s;
} lw_wavefront_outcome;

#define LW_WAVEFRONT_OUTCOME \
    { sizeof(lw_wavefront_outcome), 0, 0, 0, 0, 0, 0, 0, 0 }

/* Iterate with the built-in kernel `name`; no parameters mean its defaults. */
LW_API lw_status lw_wavefront_run(lw_wavefront *store, const char *name, const double *parameters,
                                  size_t count, const lw_wavefront_run_options *options,
                                  lw_wavefront_outcome *outcome);

/* Iterate with a kernel of your own. */
LW_API lw_status lw_wavefront_run_kernel(lw_wavefront *store, const lw_wavefront_kernel *kernel,
                                         const lw_wavefront_run_options *options,
                                         lw_wavefront_outcome *outcome);

/* Go on with a run of a built-in kernel that was interrupted; `iterations` is not looked at. */
LW_API lw_status lw_wavefront_resume(lw_wavefront *store, const lw_wavefront_run_options *options,
                                     lw_wavefront_outcome *outcome);

/* Go on with an interrupted run of a kernel of your own; it must have the name it had. */
LW_API lw_status lw_wavefront_resume_kernel(lw_wavefront *store, const lw_wavefront_kernel *kernel,
                                            const lw_wavefront_run_options *options,
                                            lw_wavefront_outcome *outcome);

/* What a run will do. */
typedef struct lw_wavefront_plan {
    uint32_t struct_size; /* sizeof(lw_wavefront_plan); lets fields be added */
    uint64_t waves;       /* iterations of the longest pass */
    uint64_t passes;
    uint64_t chain;       /* iterations that the directions let share a pass at most; 0: all */
    uint64_t buffers;     /* strips of every matrix in memory */
    uint64_t held_strips; /* in addition, from the beginning of a pass to its end */
    uint64_t rows_per_block;
    uint64_t wave_groups; /* how waves share the processors' caches */
    uint64_t rounds;
    uint64_t column_block_vectors;
    uint64_t parallelograms;        /* into which rows in tiles are divided */
    uint64_t parallelogram_columns; /* 0: rows are whole */
    uint64_t memory_bytes;          /* at the peak */
    uint64_t memory_bytes_min;      /* the smallest budget that would do */
    uint64_t read_bytes;            /* of all passes */
    uint64_t written_bytes;
    uint64_t waves_to_hide_disk; /* 0 where a rate is not known */
    double time_s;               /* predicted; 0 where a rate is not known */
    int disk_bound;              /* non-zero: the disk limits the time, and not the kernel */
    uint32_t threads;
} lw_wavefront_plan;

#define LW_WAVEFRONT_PLAN \
    { sizeof(lw_wavefront_plan), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Plan a run of the built-in kernel `name` over a store of `shape`, which lw_wavefront_query gives;
 * there need be no store.  Fails as the run would: where the kernel does not suit the shape, and
 * where the budget is too small, with the least one.
 */
LW_API lw_status lw_wavefront_plan_run(const lw_wavefront_shape *shape, const char *name,
                                       const double *parameters, size_t count,
                                       const lw_wavefront_run_options *options,
                                       lw_wavefront_report_fn report, void *report_context,
                                       lw_wavefront_plan *plan);

/* The same of a kernel of your own, which is not called. */
LW_API lw_status lw_wavefront_plan_run_kernel(const lw_wavefront_shape *shape,
                                              const lw_wavefront_kernel *kernel,
                                              const lw_wavefront_run_options *options,
                                              lw_wavefront_report_fn report, void *report_context,
                                              lw_wavefront_plan *plan);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_WAVEFRONT_H */
