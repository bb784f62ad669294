// SPDX-License-Identifier: BSD-3-Clause
//
// See run.hpp.

#include "wavefront/run/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/control_groups.hpp"
#include "base/host.hpp"
#include "wavefront/plan/parallelograms.hpp"

namespace lanewise::wavefront {
namespace {

std::uint64_t peak_memory_bytes() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        std::uint64_t kibibytes = 0;
        if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
    }
    return 0;
}

// The first wave after which the sequential loop would have stopped, `wanted` iterations in a row
// being within the tolerance; the number of waves: none. `still` are those in a row so far.
std::uint64_t first_converged(const std::vector<double>& changes, double tolerance,
                              std::uint64_t wanted, std::uint64_t& still) {
    for (std::uint64_t wave = 0; wave < changes.size(); ++wave) {
        still = changes[wave] <= tolerance ? still + 1 : 0;
        if (still >= wanted) return wave;
    }
    return changes.size();
}

/* As the strips lie in memory for a wave that goes in `direction`: waves turn within their rows,
 * but not within tiles. */
Direction facing_for(const Direction& direction, const MatrixShape& stored) {
    return {.up = direction.up, .left = stored.tile_columns > 0 && direction.left};
}

/* Borders are set row by row. */
Result<Kernel> turn(const Kernel& kernel, const Direction& facing, const Borders& borders) {
    if (kernel.turned_at_once && are_fixed(borders)) return kernel.turned_at_once(facing);
    if (kernel.turned) return kernel.turned(facing);
    return Failure{LW_ERR_ARGUMENT,
                   kernel.name +
                       " goes down and right only; give its kernel a function update_directed, "
                       "which is told the direction"};
}

/* The kernel that sets the borders of each row. */
Result<Kernel> setting_borders(const Kernel& kernel) {
    if (kernel.layout == &layouts::row_major) return kernel;
    if (kernel.turned) return kernel.turned({});
    return bad_argument(kernel.name +
                        " works on row blocks only, where borders are fixed; give its kernel a "
                        "function update_directed, or convert the store to row-major");
}

/* The kernel of a run on the matrices as they take most memory. */
Result<Kernel> largest_turned(const Kernel& kernel, const MatrixShape& stored,
                              const Directions& directions, const Borders& borders) {
    if (is_plain(directions)) return are_fixed(borders) ? kernel : setting_borders(kernel);
    Direction most;
    for (const auto& direction : directions) {
        const auto facing = facing_for(direction, stored);
        most = {.up = most.up || facing.up, .left = most.left || facing.left};
    }
    return turn(kernel, most, borders);
}

// The name in the manifest: a user's kernel is never mistaken for a built-in one.
constexpr const char *own_prefix = "own:";
std::string noted_name(const Kernel& kernel) {
    if (kernel.origin == Origin::built_in) return kernel.name;
    return own_prefix + kernel.name + " of stencil radius " + std::to_string(kernel.radius) +
           " that reads " + (kernel.reading == Reading::updated ? "updated" : "previous") +
           " values";
}

// Runs that were begun by an earlier version name a user's kernel only.
bool is_noted(const Kernel& kernel, const std::string& noted) {
    return noted == noted_name(kernel) ||
           (kernel.origin == Origin::own && noted == own_prefix + kernel.name);
}

// With fewer waves, the threads of the first pass are expected to wait for the disk.
constexpr std::uint64_t waves_of_fast_disk = 3;
// Where the disk and the waves take about as long, the share lies between these: threads also wait
// while the pipeline of waves fills and drains.
constexpr double working_share_of_slow_disk = 0.5;
constexpr double working_share_of_fast_disk = 0.65;

class Run {
  public:
    Run(Store& store, const Kernel& kernel, const RunOptions& options, const Plan& plan)
        : store_(store),
          kernel_(kernel),
          options_(options),
          plan_(plan),
          course_(options.directions, options.iterations_done, options.iterations,
                  store.shape().tile_columns ? Rows::tiled : Rows::whole,
                  iterations_of_pass(options.borders, options.pause_every)),
          still_(options.still_iterations) {}

    Result<RunReport> go() {
        auto queue = make_disk_queue(options_.queue, store_.manifest().disks.size());
        if (!queue) return queue.failure();
        queue_ = options_.wrap_queue ? options_.wrap_queue(std::move(*queue)) : std::move(*queue);
        const auto bytes = ring_bytes();
        if (!bytes) return bytes.failure();
        auto ring = Memory::reserve(*bytes);
        if (!ring) return ring.failure();
        ring_ = std::move(*ring);
        queue_->register_memory(ring_);
        const auto strips = store_.open_current(0);
        if (!strips) return strips.failure();
        report_.caching = strips->caching();
        takes_staggered_ = strips->placement() == Placement::staggered;
        if (takes_staggered_ && plan_.waves >= waves_of_fast_disk)
            placement_ = Placement::staggered;
        const auto measured = measure_first();
        if (!measured) return measured.failure();
        const auto noted = note_run();
        if (!noted) return noted.failure();

        began_s_ = monotonic_s();
        if (options_.pause_pending) {
            const auto paused = pause();
            if (!paused) return paused.failure();
        }
        while (report_.iterations < options_.iterations && !report_.converged) {
            const auto done = advance(next_waves());
            if (!done) return done.failure();
            const auto paused = pause();
            if (!paused) return paused.failure();
            // A callback of the last pass may have asked for it.
            if (stop_asked(options_.stop)) return Failure{LW_ERR_OPERATION, stopped_sentence};
        }
        report_.elapsed_s = monotonic_s() - began_s_;
        report_.waves = plan_.waves;
        report_.threads = plan_.threads;
        report_.planned_memory_bytes = plan_.memory_bytes;
        report_.peak_memory_bytes = peak_memory_bytes();
        report_.queue = queue_->name();
        return report_;
    }

  private:
    Result<std::uint64_t> ring_bytes() const {
        const auto& stored = store_.shape();
        const auto largest = largest_turned(kernel_, stored, options_.directions, options_.borders);
        if (!largest) return largest.failure();
        const auto worked = working_shape(*largest, stored);
        if (!plan_.parallelogram_vectors)
            return (plan_.buffers + plan_.held_strips) *
                   slots_of(stored, worked, Placement::staggered).buffer_bytes;
        const ParallelogramGeometry geometry(worked, largest->radius, plan_.waves,
                                             plan_.parallelogram_vectors, options_.place);
        return parallelogram_memory(worked, stored.layout, largest->second_copies, geometry)
            .bytes(plan_.buffers);
    }

    // Recorded before the first pass, so that a killed run can be resumed.
    Outcome note_run() {
        auto manifest = store_.manifest();
        manifest.run = entry_of(kernel_, options_, manifest.iterations);
        if (options_.pause_every > 0)
            manifest.run->pause =
                PauseEntry{options_.until ? until_text(*options_.until) : "", options_.pause_every,
                           first_measure_, options_.pause_pending, options_.snapshots};
        return store_.commit(manifest);
    }

    std::uint64_t iterations_of_run() const {
        return options_.iterations_done + report_.iterations;
    }

    Result<double> measure_now() const {
        return measure(store_, kernel_, options_.until->measure, iterations_of_run(),
                       options_.stop);
    }

    Outcome measure_first() {
        first_measure_ = options_.first_measure;
        if (!options_.until || !options_.until->relative || first_measure_) return Done{};
        const auto first = measure_now();
        if (!first) return first.failure();
        if (!std::isfinite(*first))
            return bad_argument(std::string("the first ") + measure_name(options_.until->measure) +
                                " is not finite, so no share of it is; give a bound without "
                                "*first, --atol alone, or --tolerance");
        first_measure_ = *first;
        return Done{};
    }

    // Between two passes, where the run has gone as far again or ends.
    bool is_pause_due() const {
        if (options_.pause_every == 0) return false;
        const bool ends = report_.converged || report_.iterations == options_.iterations;
        return ends || iterations_of_run() % options_.pause_every == 0;
    }

    // A run that ends in it, by a failure or killed, makes it again when it is resumed.
    Outcome pause() {
        if (!is_pause_due()) return Done{};
        Pause pause{.iterations = iterations_of_run()};
        if (options_.until) {
            const auto measured = measure_now();
            if (!measured) return measured.failure();
            report_.last_measure = pause.measured = *measured;
            pause.measure = options_.until->measure;
            if (is_met(*options_.until, *measured, first_measure_)) report_.converged = true;
        }
        const auto told = options_.paused ? options_.paused(pause) : Outcome(Done{});
        if (!told) return told;
        auto manifest = store_.manifest();
        if (report_.converged) manifest.run->iterations_wanted = manifest.iterations;
        manifest.run->pause->pending = false;
        return store_.commit(manifest);
    }

    // Parts end their passes at the same iterations, even those that have fallen behind.
    std::uint64_t next_waves() {
        if (!options_.halo_exchange) return course_.waves_from(report_.iterations, plan_.waves);
        const auto until_whole = options_.waves - store_.manifest().iterations % options_.waves;
        return std::min(until_whole, options_.iterations - report_.iterations);
    }

    Outcome advance(std::uint64_t waves) {
        auto result = stream(waves);
        if (!result) return result.failure();
        if (is_tested(waves)) {
            const auto everywhere = changes_everywhere(*result);
            if (!everywhere) return everywhere.failure();
            const auto& changes = *everywhere;
            const auto converged_at =
                first_converged(changes, options_.tolerance, options_.directions.size(), still_);
            report_.converged = converged_at < waves;
            if (converged_at + 1 < waves) {
                waves = converged_at + 1;
                if (options_.halo_exchange) options_.halo_exchange->begin_again();
                result = stream(waves);
                if (!result) return result.failure();
            }
            report_.last_change = changes[waves - 1];
        }
        report_.iterations += waves;
        if (stop_asked(options_.stop)) return Failure{LW_ERR_OPERATION, stopped_sentence};
        const auto committed = commit(*result, waves);
        if (committed) in_ring_ = {result->strips_left, pass_goes_up_};
        choose_placement(result->working_share);
        return committed;
    }

    // Waves that work most of the time are faster where strips are staggered; where they wait for a
    // virtual disk, it is some 8 % slower with addresses that are not whole blocks. Staggering is
    // tried once: faster waves wait longer. Strips that the next pass finds in memory stay there.
    void choose_placement(double working_share) {
        if (plan_.kept_strips > 0) return;
        if (placement_ == Placement::staggered) {
            if (working_share > working_share_of_slow_disk) return;
            takes_staggered_ = false;
            placement_ = Placement::whole_blocks;
        } else if (takes_staggered_ && working_share > working_share_of_fast_disk) {
            placement_ = Placement::staggered;
        }
    }

    bool is_tested(std::uint64_t waves) const {
        return has_tolerance(options_.tolerance) &&
               store_.manifest().iterations + waves > options_.tested_from;
    }

    Result<std::vector<double>> changes_everywhere(const PassResult& result) {
        if (!options_.halo_exchange) return result.changes;
        return options_.halo_exchange->largest_changes(result.changes);
    }

    // The kernel of a pass that begins with the next iteration.
    Result<const Kernel *> kernel_of_pass() {
        const bool plain = is_plain(options_.directions);
        if (plain && are_fixed(options_.borders)) return &kernel_;
        const auto facing = facing_for(course_.direction(report_.iterations), store_.shape());
        auto& kept = turned_[(facing.up ? 1 : 0) + (facing.left ? 2 : 0)];
        if (!kept) {
            auto turned =
                plain ? setting_borders(kernel_) : turn(kernel_, facing, options_.borders);
            if (!turned) return turned.failure();
            kept = std::move(*turned);
        }
        return &*kept;
    }

    Result<PassResult> stream(std::uint64_t waves) {
        const auto kernel = kernel_of_pass();
        if (!kernel) return kernel.failure();
        PassRequest request{.store = &store_,
                            .kernel = *kernel,
                            .queue = queue_.get(),
                            .ring = &ring_,
                            .placement = placement_,
                            .buffers = plan_.buffers,
                            .rows_per_block = plan_.rows_per_block,
                            .waves = waves,
                            .threads = plan_.threads,
                            .tiling = {},
                            .halo_exchange = options_.halo_exchange,
                            .measuring = has_tolerance(options_.tolerance),
                            .directions = std::vector<Direction>(waves),
                            .first_iteration = options_.iterations_done + report_.iterations,
                            .borders = options_.borders,
                            .finite = options_.finite,
                            .first_row = options_.first_row};
        request.tiling = plan_.tiling;
        for (std::uint64_t wave = 0; wave < waves; ++wave)
            request.directions[wave] = course_.direction(report_.iterations + wave);
        request.stop = options_.stop;
        pass_goes_up_ = request.directions[0].up;
        // Whatever becomes of this pass, the ring no longer holds what the last one left.
        const auto left = std::exchange(in_ring_, {});
        if (left.goes_up != pass_goes_up_) request.kept_strips = left.strips;
        // A part's waves go one by one, however few a pass has.
        if (options_.halo_exchange) request.tiling.groups = waves;
        if (options_.progress)
            request.progress = [this](const PassProgress& pass) {
                options_.progress(
                    {report_.iterations, options_.iterations, pass, monotonic_s() - began_s_});
            };
        auto result =
            plan_.parallelogram_vectors
                ? run_parallelogram_pass(request, plan_.parallelogram_vectors, options_.place)
                : run_pass(request);
        if (!result) return result;
        ++report_.passes;
        report_.read_bytes += result->read_bytes;
        report_.written_bytes += result->written_bytes;
        return result;
    }

    Outcome commit(const PassResult& result, std::uint64_t waves) {
        auto manifest = store_.manifest();
        for (std::uint32_t m = 0; m < store_.shape().data_count; ++m) {
            const auto text = store_.write_next_sums(m, result.sums[m]);
            if (!text) return text.failure();
            manifest.matrices[m].generation = store_.next_generation(m);
            manifest.matrices[m].sums = *text;
        }
        manifest.iterations += waves;
        // A sweep that has converged needs no more iterations.
        if (report_.converged) manifest.run->iterations_wanted = manifest.iterations;
        if (manifest.run->course) manifest.run->course->still_iterations = still_;
        if (manifest.run->pause) manifest.run->pause->pending = is_pause_due();
        if (!options_.halo_exchange) return store_.commit(manifest);
        const auto kept = options_.halo_exchange->before_commit(manifest.iterations);
        if (!kept) return kept;
        if (plan_.parallelogram_vectors) {
            const auto former = store_.keep_former();
            if (!former) return former;
        }
        const auto committed = store_.commit(manifest);
        if (committed) options_.halo_exchange->after_commit(manifest.iterations);
        return committed;
    }

    Store& store_;
    const Kernel& kernel_;
    const RunOptions& options_;
    Plan plan_;
    Memory ring_;
    Placement placement_ = Placement::whole_blocks;
    bool takes_staggered_ = false;     /* the file system, where the disk is fast enough for it */
    std::unique_ptr<DiskQueue> queue_; /* after the memory that is registered with it */
    Course course_;
    std::optional<Kernel> turned_[4]; /* for each way that matrices may face */
    /* What the last pass, if it was committed, left in the ring at its end. */
    struct InRing {
        std::uint64_t strips = 0;
        bool goes_up = false;
    };
    InRing in_ring_;
    bool pass_goes_up_ = false; /* the pass under way */
    std::uint64_t still_;       /* iterations in a row that were within the tolerance */
    std::optional<double> first_measure_;
    double began_s_ = 0.0;
    RunReport report_;
};

}  // namespace

std::string io_text(const RunReport& report) {
    return report.queue + (report.caching == Caching::page_cache ? ", page cache" : "");
}

std::string io_note(const RunReport& report, const Store& store) {
    if (report.caching == Caching::bypassed) return "";
    return "the file system of " + store.folder() +
           " takes no direct I/O; strips went through the page cache, which is not in the budget";
}

// Threads beyond a group's quota would only make all of them wait.
std::uint32_t processor_count() {
    const auto usable = static_cast<double>(allowed_cpus().size());
    return static_cast<std::uint32_t>(
        std::max(1.0, std::ceil(std::min(usable, least_of(cpu_quotas())))));
}

std::uint64_t cache_bytes() {
    const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    constexpr std::uint64_t usual = 1 << 20;
    return bytes > 0 ? static_cast<std::uint64_t>(bytes) : usual;
}

Request request_for(const MatrixShape& stored, const Kernel& kernel, const RunOptions& options,
                    std::uint64_t disks) {
    return {.shape = working_shape(kernel, stored),
            .disk_layout = stored.layout,
            .radius = kernel.radius,
            .iterations = options.iterations,
            .memory_bytes = options.memory_bytes,
            .threads = options.threads ? options.threads : processor_count(),
            .waves = options.waves,
            .scratch_rows = kernel.scratch_rows,
            .thread_rows =
                kernel.thread_rows + (has_tolerance(options.tolerance) ? kernel.measuring_rows : 0),
            .second_copies = kernel.second_copies,
            .cache_bytes = kernel.steps == Steps::whole ? 0
                           : options.cache_bytes        ? options.cache_bytes
                                                        : cache_bytes(),
            .domain = options.halo_exchange ? Domain::part : Domain::whole,
            .place = options.place,
            .parallelogram_vectors = options.parallelogram_vectors,
            .rates = options.rates,
            .directions = options.directions,
            .iterations_done = options.iterations_done,
            .pause_every = options.pause_every,
            .pause_bytes = options.pause_every ? measure_bytes(stored, kernel.radius) : 0,
            .disks = disks,
            .borders = options.borders};
}

Result<Plan> plan_run(const MatrixShape& stored, const Kernel& kernel, const RunOptions& options,
                      std::uint64_t disks) {
    const auto suits = check_kernel(kernel, stored);
    if (!suits) return suits.failure();
    const auto measured = options.until ? check_measured(stored, kernel) : Outcome(Done{});
    if (!measured) return measured.failure();
    const auto bordered = check_borders(options.borders, stored, kernel.radius);
    if (!bordered) return bordered.failure();
    if (needs_planes(options.directions) && (stored.line_columns == 0 || kernel.line_columns == 0))
        return bad_argument(
            directions_text(options.directions) + " is for three dimensions; " +
            (stored.line_columns
                 ? kernel.name +
                       " is told down and right only, give it update_plane (in Python: a function "
                       "of plane_signature)"
                 : "this store has two"));
    const auto largest = largest_turned(kernel, stored, options.directions, options.borders);
    if (!largest) return largest.failure();
    const auto turned_suits = check_kernel(*largest, stored);
    if (!turned_suits) return turned_suits.failure();
    return make_plan(request_for(stored, *largest, options, disks));
}

Result<std::uint64_t> usual_radius(const Store& store) {
    const auto& kernel = store.manifest().kernel;
    if (!kernel) return std::uint64_t{1};
    const auto info = kernel_info(kernel->name);
    if (!info) return info.failure();
    return std::uint64_t{info->radius};
}

Outcome check_options_of_parts(const RunOptions& options) {
    if (options.pause_every > 0)
        return bad_argument(
            "parts of a store do not pause between iterations, to call a function or ask a "
            "condition; leave both out, or join the parts first");
    if (!is_plain(options.directions))
        return bad_argument("parts of a store go down and right only; join them first");
    if (rows_are_periodic(options.borders))
        return bad_argument(
            "rows of parts of a store are not periodic, as none has both the top and the bottom; "
            "join them first");
    return Done{};
}

Result<Plan> plan_run(const Store& store, const Kernel& kernel, const RunOptions& options) {
    const bool sound = options.tolerance >= 0.0 && !std::isinf(options.tolerance);
    if (!sound && options.tolerance != no_tolerance)
        return Failure{LW_ERR_ARGUMENT,
                       "tolerance " + std::to_string(options.tolerance) + " is not 0 or above"};
    const auto& part = store.manifest().part;
    if (part && part->ranks > 1 && !options.halo_exchange)
        return Failure{LW_ERR_ARGUMENT,
                       store.folder() + " is part " + std::to_string(part->rank) + " of " +
                           std::to_string(part->ranks) + "; run them together: mpirun -n " +
                           std::to_string(part->ranks) + " lanewise-wavefront-ranks"};
    if (options.until && options.pause_every == 0)
        return bad_argument("a condition is asked after every so many iterations; say how many");
    const auto parts = options.halo_exchange ? check_options_of_parts(options) : Outcome(Done{});
    if (!parts) return parts.failure();
    // The data before the first iteration have their borders in memory only.
    const bool asks_first = options.until && options.until->relative &&
                            options.until->measure == Measure::residual && !options.first_measure;
    if (asks_first && !are_fixed(options.borders))
        return bad_argument(
            "the first residual is of the data with the borders that the store has; where borders "
            "are not fixed give --until a value without *first, or atol without rtol");
    return plan_run(store.shape(), kernel, options, store.manifest().disks.size());
}

RunEntry entry_of(const Kernel& kernel, const RunOptions& options, std::uint64_t iterations) {
    RunEntry entry{noted_name(kernel), kernel.parameters, iterations + options.iterations,
                   options.tolerance};
    // Who resumes a run may ask to be told which iteration of it it is. Parts have no pauses, but
    // own kernels may be told.
    if (!options.halo_exchange || (kernel.origin == Origin::own && kernel.turned))
        entry.course = CourseEntry{options.directions, iterations - options.iterations_done,
                                   options.still_iterations};
    entry.borders = options.borders;
    return entry;
}

Result<Kernel> kernel_of_run(const Store& store) {
    const auto& entry = *store.manifest().run;
    if (entry.kernel.rfind(own_prefix, 0) == 0)
        return Failure{LW_ERR_ARGUMENT,
                       "the run in " + store.folder() + " is of the kernel " +
                           entry.kernel.substr(std::string_view(own_prefix).size()) +
                           " of a program's own; resume it from that program"};
    return make_kernel_for(entry.kernel, entry.parameters, store.shape());
}

Outcome check_kernel_of_run(const Store& store, const Kernel& kernel) {
    const auto& noted = store.manifest().run->kernel;
    if (is_noted(kernel, noted)) return Done{};
    return Failure{LW_ERR_ARGUMENT, "the run in " + store.folder() + " is of " + noted +
                                        ", not of " + noted_name(kernel) +
                                        "; resume it with its own kernel"};
}

Result<RunReport> run(Store& store, const Kernel& kernel, const RunOptions& options) {
    const auto plan = plan_run(store, kernel, options);
    if (!plan) return plan.failure();
    return Run(store, kernel, options, *plan).go();
}

Result<RunReport> resume(Store& store, const Kernel& kernel, const RunOptions& options) {
    const auto& manifest = store.manifest();
    if (!manifest.run)
        return Failure{LW_ERR_NOT_FOUND,
                       store.folder() + " has no run to go on with; start one with run"};
    const auto noted = check_kernel_of_run(store, kernel);
    if (!noted) return noted.failure();
    const auto entry = *manifest.run;
    const bool pending = entry.pause && entry.pause->pending;
    if (manifest.iterations >= entry.iterations_wanted && !pending) return RunReport{};
    RunOptions rest = options;
    rest.iterations = entry.iterations_wanted - manifest.iterations;
    rest.tolerance = entry.tolerance;
    rest.borders = entry.borders;
    if (entry.course) {
        rest.directions = entry.course->directions;
        rest.iterations_done = manifest.iterations - entry.course->first_iteration;
        rest.still_iterations = entry.course->still_iterations;
    }
    if (entry.pause) {
        rest.pause_every = entry.pause->every;
        // Only who writes them knows how.
        const bool is_part = manifest.part && manifest.part->ranks > 1;
        if (!entry.pause->snapshots.empty() && rest.snapshots.empty() && !is_part)
            return bad_argument("the run of " + store.folder() + " writes snapshots to " +
                                entry.pause->snapshots +
                                "; go on with it by lanewise wavefront resume");
        rest.first_measure = entry.pause->first;
        rest.pause_pending = pending;
        if (!entry.pause->until.empty()) {
            const auto until = parse_until(entry.pause->until);
            if (!until) return until.failure();
            rest.until = *until;
        }
    }
    // Where only a pause is left, the plan of one iteration has room for it.
    RunOptions planned = rest;
    planned.iterations = std::max<std::uint64_t>(1, rest.iterations);
    const auto plan = plan_run(store, kernel, planned);
    if (!plan) return plan.failure();
    return Run(store, kernel, rest, *plan).go();
}

Result<RunReport> resume(Store& store, const RunOptions& options) {
    // Without a run no kernel is needed to say so.
    if (!store.manifest().run) return resume(store, Kernel{}, options);
    const auto kernel = kernel_of_run(store);
    if (!kernel) return kernel.failure();
    return resume(store, *kernel, options);
}

}  // namespace lanewise::wavefront
