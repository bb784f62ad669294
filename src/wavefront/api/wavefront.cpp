// SPDX-License-Identifier: BSD-3-Clause
//
// The C API of the wavefront: checks, conversions, and no exception across it.

#include <lanewise/wavefront.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <limits>

#include "wavefront/run/run.hpp"
#include "wavefront/store/rows_io.hpp"
#include "wavefront/store/vectors.hpp"

struct lw_wavefront {
    lanewise::wavefront::Store store;
    lw_wavefront_report_fn report;
    void *report_context;
    std::atomic<bool> stop{false};
};

namespace {

using namespace lanewise::wavefront;
using lanewise::Failure;
using lanewise::Outcome;
using lanewise::Result;

const Failure callback_failure{LW_ERR_OPERATION, "the callback ended it"};

lw_status report_failure(lw_wavefront_report_fn report, void *context, const Failure& failure) {
    if (report) report(context, failure.status, failure.sentence.c_str());
    return failure.status;
}

lw_status report_failure(const lw_wavefront *store, const Failure& failure) {
    return report_failure(store->report, store->report_context, failure);
}

// Runs `act`, which returns an Outcome, and turns what it throws into a status.
template <typename Act>
lw_status guarded(lw_wavefront_report_fn report, void *context, const Act& act) {
    try {
        const Outcome outcome = act();
        return outcome ? LW_OK : report_failure(report, context, outcome.failure());
    } catch (const std::bad_alloc&) {
        return report_failure(report, context,
                              {LW_ERR_MEMORY, "out of memory; give a smaller budget"});
    } catch (const std::exception& error) {
        return report_failure(report, context, {LW_ERR_OPERATION, error.what()});
    }
}

template <typename Act>
lw_status guarded(const lw_wavefront *store, const Act& act) {
    return guarded(store->report, store->report_context, act);
}

// What a program gives that was compiled before the last members were there, the rest being the
// defaults; `first_bytes` is the size of the first version.
template <typename Given>
bool take_over(const Given *given, std::size_t first_bytes, Given& taken) {
    if (!given || (given->struct_size != first_bytes && given->struct_size != sizeof *given))
        return false;
    std::memcpy(&taken, given, given->struct_size);
    return true;
}

Result<MatrixShape> shape_from(const lw_wavefront_shape *wanted) {
    lw_wavefront_shape taken = LW_WAVEFRONT_SHAPE;
    if (!take_over(wanted, offsetof(lw_wavefront_shape, line_columns), taken))
        return Failure{LW_ERR_ARGUMENT, "no shape, or one of another size; use LW_WAVEFRONT_SHAPE"};
    const auto *const given = &taken;
    if (given->element < LW_ELEMENT_F32 || given->element > LW_ELEMENT_F16)
        return Failure{LW_ERR_ARGUMENT, "unknown element " + std::to_string(given->element)};
    const auto layout = layout_named(given->layout ? given->layout : LW_LAYOUT_ROW_MAJOR);
    if (!layout) return layout.failure();
    MatrixShape shape{.rows = given->rows,
                      .columns = given->columns,
                      .data_count = given->data_count,
                      .coefficient_count = given->coefficient_count,
                      .element = static_cast<Element>(given->element),
                      .layout = *layout,
                      .strip_rows = given->strip_rows,
                      .tile_columns = given->tile_columns,
                      .line_columns = given->line_columns,
                      .row_coefficient_count = given->row_coefficient_count,
                      .column_coefficient_count = given->column_coefficient_count};
    if (shape.strip_rows == 0) shape.strip_rows = default_strip_rows(shape);
    return shape;
}

std::vector<std::string> matrix_names(const MatrixShape& shape) {
    std::vector<std::string> names;
    for (std::uint32_t m = 0; m < shape.data_count; ++m)
        names.push_back(std::string("data").append(std::to_string(m)));
    for (std::uint32_t m = 0; m < shape.coefficient_count; ++m)
        names.push_back(std::string("coefficient").append(std::to_string(m)));
    add_vector_names(shape, names);
    return names;
}

Result<RunOptions> options_from(const lw_wavefront& store, const lw_wavefront_run_options *wanted) {
    lw_wavefront_run_options taken = LW_WAVEFRONT_RUN_OPTIONS;
    if (!take_over(wanted, offsetof(lw_wavefront_run_options, directions), taken))
        return Failure{LW_ERR_ARGUMENT,
                       "no options, or of another size; use LW_WAVEFRONT_RUN_OPTIONS"};
    const auto *const given = &taken;
    RunOptions options;
    if (given->directions) {
        const auto directions = parse_directions(given->directions);
        if (!directions) return directions.failure();
        options.directions = *directions;
    }
    if (given->borders) {
        const auto borders = parse_borders(given->borders);
        if (!borders) return borders.failure();
        options.borders = *borders;
    }
    if (given->until) {
        const auto until = parse_until(given->until);
        if (!until) return until.failure();
        options.until = *until;
    }
    options.pause_every = given->pause_every;
    if (given->paused)
        options.paused = [paused = given->paused,
                          context = given->paused_context](const Pause& pause) -> Outcome {
            const double nothing = std::numeric_limits<double>::quiet_NaN();
            if (paused(context, pause.iterations, pause.measured.value_or(nothing)) == 0)
                return lanewise::Done{};
            return callback_failure;
        };
    options.iterations = given->iterations;
    options.memory_bytes = given->memory_bytes;
    options.threads = given->threads;
    options.waves = given->waves;
    options.tolerance = given->tolerance == -1.0 ? no_tolerance : given->tolerance;
    options.stop = &store.stop;
    options.finite = given->check_finite ? Finite::checked : Finite::assumed;
    if (given->progress)
        options.progress = [show = given->progress,
                            context = given->progress_context](const RunProgress& progress) {
            const lw_wavefront_progress shown{progress.iterations_done,  progress.iterations_wanted,
                                              progress.pass.waves,       progress.pass.strips_done,
                                              progress.pass.strip_count, progress.elapsed_s};
            show(context, &shown);
        };
    return options;
}

Outcome give(const Result<RunReport>& report, lw_wavefront_outcome *outcome) {
    if (!report) return report.failure();
    if (outcome)
        *outcome = {report->iterations,        report->converged ? 1 : 0,
                    report->last_change,       report->waves,
                    report->read_bytes,        report->written_bytes,
                    report->peak_memory_bytes, report->elapsed_s};
    return lanewise::Done{};
}

Result<Kernel> kernel_from(const lw_wavefront_kernel& wanted, const Store& store) {
    const auto& shape = store.shape();
    lw_wavefront_kernel given = LW_WAVEFRONT_KERNEL;
    if (!take_over(&wanted, offsetof(lw_wavefront_kernel, update_directed), given))
        return Failure{LW_ERR_ARGUMENT, "a kernel of another size; use LW_WAVEFRONT_KERNEL"};
    // Its steps know other row blocks.
    if (given.struct_size != sizeof given) given.advance = nullptr;
    auto vectors = read_vectors(store);
    if (!vectors) return vectors.failure();
    return make_user_kernel(
        {.name = given.name ? given.name : "kernel",
         .update = given.update,
         .update_directed = given.update_directed,
         .context = given.context,
         .advance = given.advance,
         .advance_and_measure = given.advance_and_measure,
         .skew = given.skew,
         .radius = given.radius,
         .reading = given.reads == LW_READS_PREVIOUS ? Reading::previous : Reading::updated,
         .writes = given.watch_writes ? WriteCheck::watched : WriteCheck::trusted,
         .vectors = std::make_shared<const std::vector<Vector>>(std::move(*vectors))},
        shape);
}

Outcome check_matrix(const Store& store, std::uint32_t matrix) {
    if (matrix < store.shape().number_count()) return lanewise::Done{};
    return Failure{LW_ERR_ARGUMENT, "there is no matrix " + std::to_string(matrix) +
                                        "; there are " +
                                        std::to_string(store.shape().number_count())};
}

/* `advance` is `run` or `resume`. */
lw_status with_kernel(Result<RunReport> (*advance)(Store&, const Kernel&, const RunOptions&),
                      lw_wavefront *store, const lw_wavefront_kernel *kernel,
                      const lw_wavefront_run_options *options, lw_wavefront_outcome *outcome) {
    if (!store || !kernel) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        store->stop = false;
        const auto wanted = options_from(*store, options);
        if (!wanted) return wanted.failure();
        const auto made = kernel_from(*kernel, store->store);
        if (!made) return made.failure();
        return give(advance(store->store, *made, *wanted), outcome);
    });
}

}  // namespace

lw_status lw_wavefront_create(const char *folder, const lw_wavefront_shape *shape,
                              lw_wavefront_report_fn report, void *report_context,
                              lw_wavefront **store) {
    if (!folder || !store) return LW_ERR_ARGUMENT;
    return guarded(report, report_context, [&]() -> Outcome {
        const auto wanted = shape_from(shape);
        if (!wanted) return wanted.failure();
        auto made = Store::create(folder, *wanted, matrix_names(*wanted), {});
        if (!made) return made.failure();
        *store = new lw_wavefront{std::move(*made), report, report_context, {}};
        return lanewise::Done{};
    });
}

lw_status lw_wavefront_open(const char *folder, lw_wavefront_report_fn report, void *report_context,
                            lw_wavefront **store) {
    if (!folder || !store) return LW_ERR_ARGUMENT;
    return guarded(report, report_context, [&]() -> Outcome {
        auto opened = Store::open(folder, Access::changing);
        if (!opened) return opened.failure();
        *store = new lw_wavefront{std::move(*opened), report, report_context, {}};
        return lanewise::Done{};
    });
}

void lw_wavefront_close(lw_wavefront *store) {
    delete store;
}

lw_status lw_wavefront_query(const lw_wavefront *store, lw_wavefront_shape *shape,
                             uint64_t *iterations) {
    if (!store) return LW_ERR_ARGUMENT;
    const auto& held = store->store.shape();
    if (shape) {
        lw_wavefront_shape found{sizeof found,
                                 static_cast<lw_element>(held.element),
                                 held.layout->name,
                                 held.data_count,
                                 held.coefficient_count,
                                 held.rows,
                                 held.columns,
                                 held.strip_rows,
                                 held.tile_columns,
                                 held.line_columns,
                                 held.row_coefficient_count,
                                 held.column_coefficient_count};
        // A program that was compiled before the last member was there has no room for it.
        if (shape->struct_size != sizeof found)
            found.struct_size = offsetof(lw_wavefront_shape, line_columns);
        std::memcpy(shape, &found, found.struct_size);
    }
    if (iterations) *iterations = store->store.manifest().iterations;
    return LW_OK;
}

lw_status lw_wavefront_write(lw_wavefront *store, uint32_t matrix, lw_wavefront_source_fn source,
                             void *context) {
    if (!store || !source) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        const auto known = check_matrix(store->store, matrix);
        if (!known) return known;
        return write_matrix(
            store->store, matrix, [&](std::uint64_t first, std::uint64_t count, std::byte *rows) {
                return source(context, first, count, rows) == 0 ? Outcome(lanewise::Done{})
                                                                : Outcome(callback_failure);
            });
    });
}

lw_status lw_wavefront_read(const lw_wavefront *store, uint32_t matrix, lw_wavefront_sink_fn sink,
                            void *context) {
    if (!store || !sink) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        const auto known = check_matrix(store->store, matrix);
        if (!known) return known;
        return read_matrix(store->store, matrix,
                           [&](std::uint64_t first, std::uint64_t count, const std::byte *rows) {
                               return sink(context, first, count, rows) == 0
                                          ? Outcome(lanewise::Done{})
                                          : Outcome(callback_failure);
                           });
    });
}

lw_status lw_wavefront_read_rows(const lw_wavefront *store, uint32_t matrix, uint64_t first_row,
                                 uint64_t row_count, void *rows) {
    if (!store || !rows) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        const auto known = check_matrix(store->store, matrix);
        if (!known) return known;
        const auto all = shape_of(store->store.shape(), matrix).rows;
        if (first_row > all || row_count > all - first_row)
            return Failure{LW_ERR_ARGUMENT, std::to_string(row_count) + " rows from row " +
                                                std::to_string(first_row) +
                                                " on are not in the matrix; it has " +
                                                std::to_string(all)};
        return read_rows(store->store, matrix, first_row, row_count,
                         static_cast<std::byte *>(rows));
    });
}

lw_status lw_wavefront_matrix_named(const lw_wavefront *store, const char *name, uint32_t *matrix) {
    if (!store || !name || !matrix) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        const auto found = store->store.matrix_named(name);
        if (!found) return found.failure();
        *matrix = *found;
        return lanewise::Done{};
    });
}

lw_status lw_wavefront_verify(const lw_wavefront *store) {
    if (!store) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        const auto damaged = verify(store->store);
        if (!damaged) return damaged.failure();
        if (damaged->empty()) return lanewise::Done{};
        for (const auto& name : *damaged) report_failure(store, {LW_ERR_IO, name});
        return Failure{LW_ERR_IO, std::to_string(damaged->size()) +
                                      " strips are damaged; restore them from a copy"};
    });
}

void lw_wavefront_stop(lw_wavefront *store) {
    if (store) store->stop.store(true, std::memory_order_release);
}

lw_status lw_wavefront_run(lw_wavefront *store, const char *name, const double *parameters,
                           size_t count, const lw_wavefront_run_options *options,
                           lw_wavefront_outcome *outcome) {
    if (!store || !name || (count > 0 && !parameters)) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        store->stop = false;
        const auto wanted = options_from(*store, options);
        if (!wanted) return wanted.failure();
        const auto kernel =
            make_kernel_for(name, {parameters, parameters + count}, store->store.shape());
        if (!kernel) return kernel.failure();
        return give(run(store->store, *kernel, *wanted), outcome);
    });
}

lw_status lw_wavefront_run_kernel(lw_wavefront *store, const lw_wavefront_kernel *kernel,
                                  const lw_wavefront_run_options *options,
                                  lw_wavefront_outcome *outcome) {
    return with_kernel(run, store, kernel, options, outcome);
}

lw_status lw_wavefront_resume_kernel(lw_wavefront *store, const lw_wavefront_kernel *kernel,
                                     const lw_wavefront_run_options *options,
                                     lw_wavefront_outcome *outcome) {
    return with_kernel(resume, store, kernel, options, outcome);
}

lw_status lw_wavefront_resume(lw_wavefront *store, const lw_wavefront_run_options *options,
                              lw_wavefront_outcome *outcome) {
    if (!store) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        store->stop = false;
        const auto wanted = options_from(*store, options);
        if (!wanted) return wanted.failure();
        return give(resume(store->store, *wanted), outcome);
    });
}
