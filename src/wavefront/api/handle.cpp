// SPDX-License-Identifier: BSD-3-Clause
//
// See handle.hpp.

#include "wavefront/api/handle.hpp"

#include <limits>
#include <memory>
#include <utility>

#include "wavefront/store/vectors.hpp"

namespace lanewise::wavefront::api {

lw_status report_failure(lw_wavefront_report_fn report, void *context, const Failure& failure) {
    if (report) report(context, failure.status, failure.sentence.c_str());
    return failure.status;
}

lw_status report_failure(const lw_wavefront *store, const Failure& failure) {
    return report_failure(store->report, store->report_context, failure);
}

Result<RunOptions> options_from(const lw_wavefront& store, const lw_wavefront_run_options *wanted,
                                const lw_wavefront_outcome *outcome) {
    lw_wavefront_run_options taken = LW_WAVEFRONT_RUN_OPTIONS;
    if (!take_over(wanted, offsetof(lw_wavefront_run_options, directions), taken))
        return Failure{LW_ERR_ARGUMENT,
                       "no options, or of another size; use LW_WAVEFRONT_RUN_OPTIONS"};
    if (outcome && outcome->struct_size != sizeof *outcome)
        return Failure{LW_ERR_ARGUMENT, "an outcome of another size; use LW_WAVEFRONT_OUTCOME"};
    const auto *const given = &taken;
    RunOptions options;
    if (given->directions) {
        const auto directions = parse_directions(given->directions);
        if (!directions) return directions.failure();
        options.directions = *directions;
    }
    if (given->borders) {
        const auto borders = parse_borders(given->borders, dimensions_of(store.store.shape()));
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
            return Failure{LW_ERR_OPERATION, "the callback ended it"};
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
         .first_row = first_row,
         .vectors = std::make_shared<const std::vector<Vector>>(std::move(*vectors))},
        shape);
}

}  // namespace lanewise::wavefront::api
