// SPDX-License-Identifier: BSD-3-Clause
//
// The C API of the wavefront: checks, conversions, and no exception across it.

#include <lanewise/wavefront.h>

#include <cstddef>
#include <cstring>

#include "wavefront/api/handle.hpp"
#include "wavefront/store/conversion.hpp"
#include "wavefront/store/parts.hpp"
#include "wavefront/store/rows_io.hpp"
#include "wavefront/store/vectors.hpp"

namespace {

using namespace lanewise::wavefront;
using namespace lanewise::wavefront::api;
using lanewise::Failure;
using lanewise::Outcome;
using lanewise::Result;

const Failure callback_failure{LW_ERR_OPERATION, "the callback ended it"};

/* Those that a program gives, or else the usual ones. */
Result<std::vector<std::string>> matrix_names(const MatrixShape& shape, const char *const *given) {
    const auto sound = check_shape(shape);
    if (!sound) return sound.failure();
    std::vector<std::string> names;
    if (given) {
        for (std::uint32_t n = 0; n < shape.number_count(); ++n)
            names.emplace_back(given[n] ? given[n] : "");
        return names;
    }
    for (std::uint32_t m = 0; m < shape.data_count; ++m)
        names.push_back(std::string("data").append(std::to_string(m)));
    for (std::uint32_t m = 0; m < shape.coefficient_count; ++m)
        names.push_back(std::string("coefficient").append(std::to_string(m)));
    add_vector_names(shape, names);
    return names;
}

Outcome check_matrix(const Store& store, std::uint32_t matrix) {
    if (matrix < store.shape().number_count()) return lanewise::Done{};
    return Failure{LW_ERR_ARGUMENT, "there is no matrix " + std::to_string(matrix) +
                                        "; there are " +
                                        std::to_string(store.shape().number_count())};
}

/* Of a call that lw_wavefront_stop ends on `store`; `moved` may be null. */
Watch watch_of(const lw_wavefront& store, lw_wavefront_moved_fn moved, void *context) {
    Watch watch{.stop = &store.stop};
    if (moved)
        watch.moved = [moved, context](std::uint64_t done, std::uint64_t all) {
            moved(context, done, all);
        };
    return watch;
}

Outcome hand_out(Result<Store> opened, lw_wavefront_report_fn report, void *report_context,
                 lw_wavefront **store) {
    if (!opened) return opened.failure();
    *store = new lw_wavefront{std::move(*opened), report, report_context, {}};
    return lanewise::Done{};
}

lw_status open_store(const char *folder, Access access, lw_wavefront_report_fn report,
                     void *report_context, lw_wavefront **store) {
    if (!folder) return report_failure(report, report_context, null_argument("folder"));
    if (!store) return report_failure(report, report_context, null_argument("store"));
    return guarded(report, report_context, [&]() -> Outcome {
        return hand_out(Store::open(folder, access), report, report_context, store);
    });
}

/* `advance` is `run` or `resume`. */
lw_status with_kernel(Result<RunReport> (*advance)(Store&, const Kernel&, const RunOptions&),
                      lw_wavefront *store, const lw_wavefront_kernel *kernel,
                      const lw_wavefront_run_options *options, lw_wavefront_outcome *outcome) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!kernel) return report_failure(store, null_argument("kernel"));
    return guarded(store, [&]() -> Outcome {
        const Changing change(*store);
        const auto alone = change.check();
        if (!alone) return alone;
        const UnderWay call(*store);
        const auto wanted = options_from(*store, options, outcome);
        if (!wanted) return wanted.failure();
        const auto made = kernel_from(*kernel, store->store, 0);
        if (!made) return made.failure();
        return give(advance(store->store, *made, *wanted), outcome);
    });
}

void give(const Plan& planned, lw_wavefront_plan *plan) {
    *plan = {.struct_size = sizeof *plan,
             .waves = planned.waves,
             .passes = planned.passes,
             .chain = planned.chain,
             .buffers = planned.buffers,
             .held_strips = planned.held_strips,
             .rows_per_block = planned.rows_per_block,
             .wave_groups = planned.tiling.groups,
             .rounds = planned.tiling.rounds,
             .column_block_vectors = planned.tiling.column_block,
             .parallelograms = planned.parallelograms,
             .parallelogram_columns = planned.parallelogram_vectors,
             .memory_bytes = planned.memory_bytes,
             .memory_bytes_min = planned.memory_bytes_min,
             .read_bytes = planned.read_bytes,
             .written_bytes = planned.written_bytes,
             .waves_to_hide_disk = planned.waves_to_hide_disk,
             .time_s = planned.time_s,
             .disk_bound = planned.disk_bound ? 1 : 0,
             .threads = planned.threads};
}

/* `make` makes the kernel for a shape. */
template <typename Make>
lw_status planned(const lw_wavefront_shape *shape, const lw_wavefront_run_options *options,
                  lw_wavefront_report_fn report, void *report_context, lw_wavefront_plan *plan,
                  const Make& make) {
    return guarded(report, report_context, [&]() -> Outcome {
        if (!plan) return null_argument("plan");
        if (plan->struct_size != sizeof *plan)
            return Failure{LW_ERR_ARGUMENT, "a plan of another size; use LW_WAVEFRONT_PLAN"};
        const auto stored = shape_from(shape);
        if (!stored) return stored.failure();
        const auto sound = check_shape(*stored);
        if (!sound) return sound;
        const auto wanted = options_from(*stored, options);
        if (!wanted) return wanted.failure();
        const auto kernel = make(*stored);
        if (!kernel) return kernel.failure();
        const auto found = plan_run(*stored, *kernel, *wanted);
        if (!found) return found.failure();
        give(*found, plan);
        return lanewise::Done{};
    });
}

}  // namespace

lw_status lw_wavefront_create(const char *folder, const lw_wavefront_shape *shape,
                              lw_wavefront_report_fn report, void *report_context,
                              lw_wavefront **store) {
    return lw_wavefront_create_named(folder, shape, nullptr, report, report_context, store);
}

lw_status lw_wavefront_create_named(const char *folder, const lw_wavefront_shape *shape,
                                    const char *const *names, lw_wavefront_report_fn report,
                                    void *report_context, lw_wavefront **store) {
    if (!folder) return report_failure(report, report_context, null_argument("folder"));
    if (!store) return report_failure(report, report_context, null_argument("store"));
    return guarded(report, report_context, [&]() -> Outcome {
        const auto wanted = shape_from(shape);
        if (!wanted) return wanted.failure();
        const auto called = matrix_names(*wanted, names);
        if (!called) return called.failure();
        return hand_out(Store::create(folder, *wanted, *called, {}), report, report_context, store);
    });
}

lw_status lw_wavefront_create_in_memory(const lw_wavefront_shape *shape, const char *const *names,
                                        lw_wavefront_report_fn report, void *report_context,
                                        lw_wavefront **store) {
    if (!store) return report_failure(report, report_context, null_argument("store"));
    return guarded(report, report_context, [&]() -> Outcome {
        const auto wanted = shape_from(shape);
        if (!wanted) return wanted.failure();
        const auto called = matrix_names(*wanted, names);
        if (!called) return called.failure();
        return hand_out(Store::create_in_memory(*wanted, *called), report, report_context, store);
    });
}

lw_status lw_wavefront_open(const char *folder, lw_wavefront_report_fn report, void *report_context,
                            lw_wavefront **store) {
    return open_store(folder, Access::changing, report, report_context, store);
}

lw_status lw_wavefront_open_reading(const char *folder, lw_wavefront_report_fn report,
                                    void *report_context, lw_wavefront **store) {
    return open_store(folder, Access::reading, report, report_context, store);
}

void lw_wavefront_close(lw_wavefront *store) {
    delete store;
}

lw_status lw_wavefront_query(const lw_wavefront *store, lw_wavefront_shape *shape,
                             uint64_t *iterations) {
    if (!store) return LW_ERR_ARGUMENT;
    const auto& held = store->store.shape();
    if (shape && shape->struct_size != sizeof *shape &&
        shape->struct_size != offsetof(lw_wavefront_shape, line_columns))
        return report_failure(store,
                              {LW_ERR_ARGUMENT, "a shape of another size; use LW_WAVEFRONT_SHAPE"});
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
        // A program that was compiled before the last members were there has no room for them.
        found.struct_size = shape->struct_size;
        std::memcpy(shape, &found, found.struct_size);
    }
    if (iterations) *iterations = store->store.manifest().iterations;
    return LW_OK;
}

lw_status lw_wavefront_write(lw_wavefront *store, uint32_t matrix, lw_wavefront_source_fn source,
                             void *context) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!source) return report_failure(store, null_argument("source"));
    return guarded(store, [&]() -> Outcome {
        const Changing change(*store);
        const auto alone = change.check();
        if (!alone) return alone;
        const UnderWay call(*store);
        const auto known = check_matrix(store->store, matrix);
        if (!known) return known;
        return write_matrix(store->store, matrix,
                            [&](std::uint64_t first, std::uint64_t count, std::byte *rows) {
                                return source(context, first, count, rows) == 0
                                           ? Outcome(lanewise::Done{})
                                           : Outcome(callback_failure);
                            },
                            {.stop = &store->stop});
    });
}

lw_status lw_wavefront_read(const lw_wavefront *store, uint32_t matrix, lw_wavefront_sink_fn sink,
                            void *context) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!sink) return report_failure(store, null_argument("sink"));
    return guarded(store, [&]() -> Outcome {
        const auto known = check_matrix(store->store, matrix);
        if (!known) return known;
        const UnderWay call(*store);
        return read_matrix(store->store, matrix,
                           [&](std::uint64_t first, std::uint64_t count, const std::byte *rows) {
                               return sink(context, first, count, rows) == 0
                                          ? Outcome(lanewise::Done{})
                                          : Outcome(callback_failure);
                           },
                           {.stop = &store->stop});
    });
}

lw_status lw_wavefront_read_rows(const lw_wavefront *store, uint32_t matrix, uint64_t first_row,
                                 uint64_t row_count, void *rows) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!rows) return report_failure(store, null_argument("rows"));
    return guarded(store, [&]() -> Outcome {
        const auto known = check_matrix(store->store, matrix);
        if (!known) return known;
        const auto all = shape_of(store->store.shape(), matrix).rows;
        if (first_row > all || row_count > all - first_row)
            return Failure{LW_ERR_ARGUMENT, std::to_string(row_count) + " rows from row " +
                                                std::to_string(first_row) +
                                                " on are not in the matrix; it has " +
                                                std::to_string(all)};
        const UnderWay call(*store);
        return read_rows(store->store, matrix, first_row, row_count, static_cast<std::byte *>(rows),
                         {.stop = &store->stop});
    });
}

lw_status lw_wavefront_matrix_named(const lw_wavefront *store, const char *name, uint32_t *matrix) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!name) return report_failure(store, null_argument("name"));
    if (!matrix) return report_failure(store, null_argument("matrix"));
    return guarded(store, [&]() -> Outcome {
        const auto found = store->store.matrix_named(name);
        if (!found) return found.failure();
        *matrix = *found;
        return lanewise::Done{};
    });
}

const char *lw_wavefront_matrix_name(const lw_wavefront *store, uint32_t matrix) {
    if (!store || matrix >= store->store.shape().number_count()) return nullptr;
    return store->store.name_of(matrix).c_str();
}

lw_status lw_wavefront_convert(const lw_wavefront *store, const char *folder,
                               const lw_wavefront_shape *shape, uint64_t memory_bytes,
                               lw_wavefront_moved_fn moved, void *context) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!folder) return report_failure(store, null_argument("folder"));
    return guarded(store, [&]() -> Outcome {
        const UnderWay call(*store);
        const auto wanted = shape_given(shape);
        if (!wanted) return wanted.failure();
        Conversion conversion{.layout = wanted->layout,
                              .strip_rows = wanted->shape.strip_rows,
                              .tile_columns = wanted->shape.tile_columns,
                              .memory_bytes = memory_bytes,
                              .watch = watch_of(*store, moved, context)};
        const auto converted = convert_store(store->store, folder, conversion);
        return converted ? Outcome(lanewise::Done{}) : Outcome(converted.failure());
    });
}

lw_status lw_wavefront_split(const lw_wavefront *store, uint64_t radius, const char *const *folders,
                             uint32_t count, lw_wavefront_moved_fn moved, void *context) {
    if (!store) return LW_ERR_ARGUMENT;
    if (count > 0 && !folders) return report_failure(store, null_argument("folders"));
    return guarded(store, [&]() -> Outcome {
        const UnderWay call(*store);
        std::vector<std::string> parts;
        for (std::uint32_t rank = 0; rank < count; ++rank) {
            if (!folders[rank]) return null_argument("folders");
            parts.emplace_back(folders[rank]);
        }
        const auto wanted = radius ? Result<std::uint64_t>(radius) : usual_radius(store->store);
        if (!wanted) return wanted.failure();
        return split_store(store->store, *wanted, parts, watch_of(*store, moved, context));
    });
}

lw_status lw_wavefront_join(const lw_wavefront *const *parts, uint32_t count, const char *folder,
                            lw_wavefront_moved_fn moved, void *context) {
    if (!parts || count == 0 || !parts[0]) return LW_ERR_ARGUMENT;
    const auto *first = parts[0];
    if (!folder) return report_failure(first, null_argument("folder"));
    return guarded(first, [&]() -> Outcome {
        const UnderWay call(*first);
        std::vector<const Store *> stores;
        for (std::uint32_t rank = 0; rank < count; ++rank) {
            if (!parts[rank]) return null_argument("parts");
            stores.push_back(&parts[rank]->store);
        }
        return join_stores(stores, folder, watch_of(*first, moved, context));
    });
}

lw_status lw_wavefront_verify(const lw_wavefront *store) {
    if (!store) return LW_ERR_ARGUMENT;
    return guarded(store, [&]() -> Outcome {
        const UnderWay call(*store);
        const auto damaged = verify(store->store, &store->stop);
        if (!damaged) return damaged.failure();
        if (damaged->empty()) return lanewise::Done{};
        for (const auto& name : *damaged) report_failure(store, {LW_ERR_IO, name});
        return damage(damaged->size());
    });
}

void lw_wavefront_stop(lw_wavefront *store) {
    if (store) store->stop.store(true, std::memory_order_release);
}

lw_status lw_wavefront_run(lw_wavefront *store, const char *name, const double *parameters,
                           size_t count, const lw_wavefront_run_options *options,
                           lw_wavefront_outcome *outcome) {
    if (!store) return LW_ERR_ARGUMENT;
    if (!name) return report_failure(store, null_argument("name"));
    if (count > 0 && !parameters) return report_failure(store, null_argument("parameters"));
    return guarded(store, [&]() -> Outcome {
        const Changing change(*store);
        const auto alone = change.check();
        if (!alone) return alone;
        const UnderWay call(*store);
        const auto wanted = options_from(*store, options, outcome);
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
        const Changing change(*store);
        const auto alone = change.check();
        if (!alone) return alone;
        const UnderWay call(*store);
        const auto wanted = options_from(*store, options, outcome);
        if (!wanted) return wanted.failure();
        return give(resume(store->store, *wanted), outcome);
    });
}

lw_status lw_wavefront_plan_run(const lw_wavefront_shape *shape, const char *name,
                                const double *parameters, size_t count,
                                const lw_wavefront_run_options *options,
                                lw_wavefront_report_fn report, void *report_context,
                                lw_wavefront_plan *plan) {
    if (!name) return report_failure(report, report_context, null_argument("name"));
    if (count > 0 && !parameters)
        return report_failure(report, report_context, null_argument("parameters"));
    return planned(shape, options, report, report_context, plan, [&](const MatrixShape& stored) {
        return make_kernel_for(name, {parameters, parameters + count}, stored);
    });
}

lw_status lw_wavefront_plan_run_kernel(const lw_wavefront_shape *shape,
                                       const lw_wavefront_kernel *kernel,
                                       const lw_wavefront_run_options *options,
                                       lw_wavefront_report_fn report, void *report_context,
                                       lw_wavefront_plan *plan) {
    if (!kernel) return report_failure(report, report_context, null_argument("kernel"));
    return planned(shape, options, report, report_context, plan, [&](const MatrixShape& stored) {
        return kernel_from(*kernel, stored, std::vector<Vector>(stored.vector_count()), 0);
    });
}
