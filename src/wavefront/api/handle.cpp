// SPDX-License-Identifier: BSD-3-Clause
//
// See handle.hpp.

#include "wavefront/api/handle.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/json.hpp"
#include "wavefront/store/vectors.hpp"

namespace lanewise::wavefront::api {
namespace {

/* The condition that ends a run; none where neither member asks for one. */
Result<std::optional<Until>> until_from(const lw_wavefront_run_options& given) {
    const bool within = given.rtol != 0.0 || given.atol != 0.0;
    if (!given.until && !within) return std::optional<Until>{};
    if (given.until && within)
        return bad_argument("until and rtol or atol end a run; give one of them");
    const auto until = within ? until_within(given.rtol, given.atol) : parse_until(given.until);
    if (!until) return until.failure();
    return std::optional<Until>{*until};
}

PlaneFunction plane_function(lw_wavefront_plane_fn update) {
    if (!update) return {};
    return [update](void *const *updated, const void *const *data, const void *const *coefficients,
                    const Plane& plane, void *context) {
        const lw_wavefront_plane told{sizeof told,     plane.number, plane.lines, plane.columns,
                                      plane.iteration, plane.down,   plane.back,  plane.right};
        update(updated, data, coefficients, &told, context);
    };
}

}  // namespace

Outcome Changing::check() const {
    if (is_only_) return lanewise::Done{};
    return Failure{LW_ERR_ARGUMENT,
                   "a run of the store or a write to it is under way, and what it calls may only "
                   "read the store; write or run once it has ended"};
}

lw_status report_failure(lw_wavefront_report_fn report, void *context, const Failure& failure) {
    if (report) report(context, failure.status, failure.sentence.c_str());
    return failure.status;
}

lw_status report_failure(const lw_wavefront *store, const Failure& failure) {
    return report_failure(store->report, store->report_context, failure);
}

Failure null_argument(const char *name) {
    return {LW_ERR_ARGUMENT, std::string(name) + " must not be NULL"};
}

Result<GivenShape> shape_given(const lw_wavefront_shape *wanted) {
    lw_wavefront_shape taken = LW_WAVEFRONT_SHAPE;
    if (!take_over(wanted, {offsetof(lw_wavefront_shape, line_columns)}, taken))
        return Failure{LW_ERR_ARGUMENT, "no shape, or one of another size; use LW_WAVEFRONT_SHAPE"};
    const auto layout = layout_named(taken.layout ? taken.layout : LW_LAYOUT_ROW_MAJOR);
    if (!layout) return layout.failure();
    return GivenShape{taken, *layout};
}

Result<MatrixShape> shape_from(const lw_wavefront_shape *wanted) {
    const auto taken = shape_given(wanted);
    if (!taken) return taken.failure();
    const auto *const given = &taken->shape;
    if (given->element < LW_ELEMENT_F32 || given->element > LW_ELEMENT_F16)
        return Failure{LW_ERR_ARGUMENT, "unknown element " + std::to_string(given->element)};
    MatrixShape shape{.rows = given->rows,
                      .columns = given->columns,
                      .data_count = given->data_count,
                      .coefficient_count = given->coefficient_count,
                      .element = static_cast<Element>(given->element),
                      .layout = taken->layout,
                      .strip_rows = given->strip_rows,
                      .tile_columns = given->tile_columns,
                      .line_columns = given->line_columns,
                      .row_coefficient_count = given->row_coefficient_count,
                      .column_coefficient_count = given->column_coefficient_count};
    if (shape.strip_rows == 0) shape.strip_rows = default_strip_rows(shape);
    return shape;
}

Result<RunOptions> options_from(const lw_wavefront& store, const lw_wavefront_run_options *wanted,
                                const lw_wavefront_outcome *outcome) {
    if (outcome && outcome->struct_size != sizeof *outcome)
        return Failure{LW_ERR_ARGUMENT, "an outcome of another size; use LW_WAVEFRONT_OUTCOME"};
    auto options = options_from(store.store.shape(), wanted);
    if (options) options->stop = &store.stop;
    return options;
}

Result<RunOptions> options_from(const MatrixShape& shape, const lw_wavefront_run_options *wanted) {
    lw_wavefront_run_options taken = LW_WAVEFRONT_RUN_OPTIONS;
    if (!take_over(wanted,
                   {offsetof(lw_wavefront_run_options, directions),
                    offsetof(lw_wavefront_run_options, rtol)},
                   taken))
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
        const auto borders = parse_borders(given->borders, dimensions_of(shape));
        if (!borders) return borders.failure();
        options.borders = *borders;
    }
    const auto until = until_from(*given);
    if (!until) return until.failure();
    options.until = *until;
    for (const double rate :
         {given->read_bytes_per_s, given->write_bytes_per_s, given->cells_per_s}) {
        if (!std::isfinite(rate) || rate < 0.0)
            return Failure{LW_ERR_ARGUMENT, "a rate is " + std::to_string(rate) +
                                                "; give one above 0, or 0 where it is not known"};
    }
    options.rates = {given->read_bytes_per_s, given->write_bytes_per_s, given->cells_per_s};
    options.pause_every = given->pause_every;
    if (options.pause_every == 0 && (options.until || given->paused))
        options.pause_every = asked_every;
    if (given->paused)
        options.paused = [paused = given->paused,
                          context = given->paused_context](const Pause& pause) -> Outcome {
            const double nothing = std::numeric_limits<double>::quiet_NaN();
            if (paused(context, pause.iterations, pause.measured.value_or(nothing)) == 0)
                return lanewise::Done{};
            return Failure{LW_ERR_OPERATION, "the callback ended it"};
        };
    options.iterations = given->iterations;
    options.memory_bytes = given->memory_bytes;
    options.threads = given->threads;
    options.waves = given->waves;
    options.tolerance = given->tolerance == -1.0 ? no_tolerance : given->tolerance;
    options.finite = given->check_finite ? Finite::checked : Finite::assumed;
    if (given->progress)
        options.progress = [show = given->progress,
                            context = given->progress_context](const RunProgress& progress) {
            const lw_wavefront_progress shown{
                sizeof shown,        progress.iterations_done,  progress.iterations_wanted,
                progress.pass.waves, progress.pass.strips_done, progress.pass.strip_count,
                progress.elapsed_s};
            show(context, &shown);
        };
    return options;
}

Outcome give(const Result<RunReport>& report, lw_wavefront_outcome *outcome) {
    if (!report) return report.failure();
    if (outcome)
        *outcome = {sizeof *outcome,
                    report->iterations,
                    report->converged ? 1 : 0,
                    report->last_change,
                    report->waves,
                    report->read_bytes,
                    report->written_bytes,
                    report->peak_memory_bytes,
                    report->elapsed_s};
    return lanewise::Done{};
}

Result<Kernel> kernel_from(const lw_wavefront_kernel& wanted, const Store& store,
                           std::int64_t first_row) {
    auto vectors = read_vectors(store);
    if (!vectors) return vectors.failure();
    return kernel_from(wanted, store.shape(), std::move(*vectors), first_row);
}

Result<Kernel> kernel_from(const lw_wavefront_kernel& wanted, const MatrixShape& shape,
                           std::vector<Vector> vectors, std::int64_t first_row) {
    lw_wavefront_kernel given = LW_WAVEFRONT_KERNEL;
    constexpr auto first_version = offsetof(lw_wavefront_kernel, update_directed);
    if (!take_over(&wanted,
                   {first_version, offsetof(lw_wavefront_kernel, update_plane),
                    offsetof(lw_wavefront_kernel, steps_turn)},
                   given))
        return Failure{LW_ERR_ARGUMENT, "a kernel of another size; use LW_WAVEFRONT_KERNEL"};
    const std::string name = given.name ? given.name : "kernel";
    if (!is_text(name)) return Failure{LW_ERR_ARGUMENT, "the name of the kernel is not UTF-8"};
    // Its steps know other row blocks.
    if (given.struct_size == first_version) given.advance = nullptr;
    return make_user_kernel(
        {.name = name,
         .update = given.update,
         .update_directed = given.update_directed,
         .update_plane = plane_function(given.update_plane),
         .context = given.context,
         .advance = given.advance,
         .advance_and_measure = given.advance_and_measure,
         .steps_turn = given.steps_turn != 0,
         .skew = given.skew,
         .radius = given.radius,
         .reading = given.reads == LW_READS_PREVIOUS ? Reading::previous : Reading::updated,
         .writes = given.watch_writes ? WriteCheck::watched : WriteCheck::trusted,
         .first_row = first_row,
         .vectors = std::make_shared<const std::vector<Vector>>(std::move(vectors))},
        shape);
}

}  // namespace lanewise::wavefront::api
