// SPDX-License-Identifier: BSD-3-Clause
//
// See bench.hpp.

#include "measure/bench.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/control_groups.hpp"
#include "base/host.hpp"
#include "base/sizes.hpp"
#include "base/statistics.hpp"
#include "measure/names.hpp"

namespace lanewise::measure {
namespace {

// Points whose batches are interleaved. With more, finished points would reach the file later.
constexpr std::size_t interleaved_max = 8;

Failure refuse(const std::string& what, const std::string& remedy) {
    return {LW_ERR_ARGUMENT, what + "; " + remedy};
}

Clock wtime_clock() {
    Clock clock{.name = "wtime", .read = [] { return MPI_Wtime(); }, .scope = ClockScope::rank};
    void *is_global = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_WTIME_IS_GLOBAL, &is_global, &found));
    if (found && *static_cast<int *>(is_global)) clock.scope = ClockScope::everywhere;
    return clock;
}

#ifdef LANEWISE_SIMULATED
// Simulated time is the only time there is, and one for all hosts.
Clock make_clock(const lw_measure_options&) {
    auto clock = wtime_clock();
    clock.scope = ClockScope::everywhere;
    return clock;
}
#else
Clock make_clock(const lw_measure_options& options) {
    if (options.clock == LW_CLOCK_WTIME) return wtime_clock();
    if (options.clock == LW_CLOCK_SKEWED)
        return skewed_clock(options.skew_offset_s, options.skew_drift);
    return monotonic_clock();
}
#endif

// The processors that one or another rank of this host may use.
long shared_processors(const Harness& host) {
    std::vector<double> usable(CPU_SETSIZE);
    for (const int cpu : allowed_cpus()) usable[static_cast<std::size_t>(cpu)] = 1.0;
    host.maximum(usable);
    const auto count = std::count(usable.begin(), usable.end(), 1.0);
    return count > 0 ? count : sysconf(_SC_NPROCESSORS_ONLN);
}

Sharing sharing_of_this_host(const Harness& harness) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_split_type(harness.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    Sharing sharing;
    {
        const Harness host(comm);
        const long processors = shared_processors(host);
        const auto quotas = cpu_quotas();
        const bool throttled = are_too_many(quotas, ranks_of_groups(quotas, comm));
        sharing = {host.size(), ranks_of_groups(memory_left(), comm),
                   host.any(throttled || host.size() > processors)};
    }
    MPI_Comm_free(&comm);
    return sharing;
}

std::string gibibytes(double bytes) {
    const auto text = std::to_string(bytes / (1 << 30));
    const auto whole = text.find('.');
    return text.substr(0, whole > 3 ? whole : 5) + " GiB";
}

// What a repetition took from its start on. Where all were late there are no values, but then none
// waited for its start either.
double started_s(const Batch& batch, std::size_t count) {
    if (batch.values_s.empty()) return batch.elapsed_s / static_cast<double>(count);
    return std::max(0.0, median(batch.values_s));
}

void append(std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Outcome Bench::admit(const lw_measure_options& options) {
    if (options.struct_size != sizeof(lw_measure_options))
        return refuse("options of another size", "begin with LW_MEASURE_OPTIONS");
    const auto *timing = method_of(timing_methods(), options.timing);
    if (!timing)
        return refuse("unknown timing method", "use " + listed(names_of(timing_methods())));
    const auto *start = method_of(start_methods(), options.start);
    if (!start) return refuse("unknown start", "use " + listed(names_of(start_methods())));
    if (options.clock < LW_CLOCK_AUTO || options.clock > LW_CLOCK_SKEWED)
        return refuse("unknown clock", "use auto, monotonic, wtime or skewed");
    if (!std::isfinite(options.skew_offset_s))
        return refuse("a clock with an offset of " + std::to_string(options.skew_offset_s) + " s",
                      "name a time");
    if (!(options.skew_drift > -1.0) || !std::isfinite(options.skew_drift))
        return refuse("a clock that drifts by " + std::to_string(options.skew_drift) +
                          " s in a second does not go forward",
                      "name a number above -1");
    if (options.rule != LW_RULE_MEDIAN && options.rule != LW_RULE_STUDENT)
        return refuse("unknown stopping rule", "use median or student");
    if (!(options.confidence > 0.0 && options.confidence < 1.0))
        return refuse("confidence " + std::to_string(options.confidence) + " is outside (0, 1)",
                      "95 % is 0.95");
    if (!(options.error > 0.0) || !std::isfinite(options.error))
        return refuse("error " + std::to_string(options.error) + " is not above 0",
                      "2.5 % is 0.025");
    if (options.repetitions_min == 0) return refuse("no repetitions", "ask for at least 1");
    if (options.repetitions_min > options.repetitions_max) {
        return refuse("minimum of " + std::to_string(options.repetitions_min) +
                          " repetitions is above the maximum of " +
                          std::to_string(options.repetitions_max),
                      "write the smaller first");
    }
    if (options.pipeline_length == 0) return refuse("pipeline of 0", "1 isolates executions");
    if (!(options.time_limit_s >= 0.0) || !std::isfinite(options.time_limit_s))
        return refuse("time limit of " + std::to_string(options.time_limit_s) + " seconds",
                      "0 is none");
    if (!(options.resync_s > 0.0))
        return refuse("synchronising every " + std::to_string(options.resync_s) + " seconds",
                      "name a time above 0");
    const bool together = start->needs_global_clock || options.pipeline_length > 1;
    if (timing->one_rank_at_a_time && together)
        return Failure{LW_ERR_UNSUPPORTED,
                       "individual tasks are acknowledged one by one; "
                       "use a barrier start and no pipeline"};
    return admit_buffers(options);
}

Outcome Bench::admit_timing(const lw_operation& operation, const lw_measure_options& options,
                            int ranks) {
    const auto *timing = method_of(timing_methods(), options.timing);
    const bool has_tasks = operation.entry && operation.entry->tasks;
    if (!timing || !timing->one_rank_at_a_time || (has_tasks && ranks >= 2)) return Done{};
    return Failure{LW_ERR_UNSUPPORTED, operation.name +
                                           " is not made of tasks between a root and at least one "
                                           "other rank; use max, root or global"};
}

Bench::Bench(MPI_Comm comm, const lw_measure_options& options)
    : options_(options),
      harness_(comm),
      clock_(make_clock(options)),
      timing_(method_of(timing_methods(), options.timing)),
      start_(method_of(start_methods(), options.start)),
      sharing_(sharing_of_this_host(harness_)),
      waiting_(harness_.any(sharing_.crowded) ? Waiting::asleep : Waiting::awake) {
    if (options.buffers.caches == LW_CACHES_COLD) evictor_.emplace();
}

void Bench::evict_caches(std::span<const std::span<std::byte>> bytes) const {
    if (!evictor_) return;
    evictor_->evict_others();
    for (const auto one : bytes) evictor_->flush(one);
}

bool Bench::begin(const Running& running) {
    running.come_between();
    evict_caches(running.next_buffers());
    return starter_.wait();
}

StoppingRule Bench::stopping_rule() const {
    return {.rule = options_.rule,
            .repetitions_min = options_.repetitions_min,
            .repetitions_max = options_.repetitions_max,
            .confidence = options_.confidence,
            .error = options_.error,
            .time_limit_s = options_.time_limit_s};
}

double Bench::barrier_s() {
    if (barrier_s_ >= 0.0) return barrier_s_;
    constexpr int trials = 51;
    std::vector<double> times;
    for (int i = 0; i < trials; ++i) {
        harness_.barrier();
        const double begin_s = clock_.now_s();
        harness_.barrier();
        times.push_back(clock_.now_s() - begin_s);
    }
    barrier_s_ = median(times);
    return barrier_s_;
}

void Bench::refresh_global_clock() {
    const bool old = !global_clock_ || global_clock_->age_s() > options_.resync_s;
    if (harness_.any(old))
        global_clock_ = GlobalClock::synchronise(harness_, clock_, {.waiting = waiting_});
}

Outcome Bench::admit_memory(const std::string& what, double bytes) const {
    const double room_bytes =
        std::min(available_memory_bytes() / sharing_.ranks,
                 share_of(memory_left(), sharing_.ranks_of_groups, sharing_.ranks));
    if (!harness_.any(bytes > room_bytes)) return Done{};
    double worst[2] = {bytes, -room_bytes};
    harness_.maximum(worst);
    return Failure{LW_ERR_LIMIT, what + " needs " + gibibytes(worst[0]) +
                                     " of memory in a rank where " + gibibytes(-worst[1]) +
                                     " are free; choose a smaller size"};
}

Outcome Bench::admit_point(const Point& point) {
    const auto& [operation, root, bytes, loop] = point;
    const auto *entry = operation->entry;
    const auto admitted =
        measure::admit(*operation, harness_.size(), root, bytes, loop ? loop->manner : Manner{});
    if (!admitted) return admitted;
    const auto timed = loop ? Outcome(Done{}) : admit_timing(*operation, options_, harness_.size());
    if (!timed) return timed;
    if (!entry && !are_plain(options_.buffers))
        return Failure{LW_ERR_UNSUPPORTED,
                       operation->name + " allocates its own buffers; keep the default buffers"};
    const auto offset_bytes = options_.buffers.offset_bytes;
    if (entry && entry->element == Element::real && offset_bytes % sizeof(float) != 0)
        return Failure{LW_ERR_ARGUMENT, operation->name + " adds floats; an offset of " +
                                            std::to_string(offset_bytes) +
                                            " bytes is not a multiple of 4; use 4"};
    return admit_memory(
        operation->name + " of " + format_size(bytes) + " bytes",
        buffer_bytes(*operation, harness_.rank(), harness_.size(), root, bytes, options_.buffers));
}

Outcome Bench::prepare(std::span<const Point> points) {
    for (const auto& point : points) {
        const auto admitted = admit_point(point);
        if (!admitted) return admitted;
    }
    if (timing_->needs_global_clock || start_->needs_global_clock) refresh_global_clock();
    if (!starter_.wait) starter_ = start_->make(*this);
    return Done{};
}

// Executions that are not recorded; all ranks agree on how many. A failure ends
// them, but only after its rank has reported it to the others, which wait for it.
Bench::WarmUp Bench::warm_up(Running& running, double estimate_s) const {
    const double room_s = options_.time_limit_s / 10.0;
    double agreed[3] = {estimate_s, 0.0, 0.0}; /* the longest times, whether any rank failed */
    const auto time_eviction = [&] {
        const double begin_s = clock_.now_s();
        evict_caches(running.next_buffers());
        agreed[1] = clock_.now_s() - begin_s;
    };
    if (options_.warmup_repetitions == 0) {
        time_eviction();
        harness_.maximum(agreed);
    }
    for (std::uint32_t i = 0; i < options_.warmup_repetitions; ++i) {
        const bool too_long = room_s > 0.0 && agreed[0] * (i + 1) > room_s;
        if (agreed[2] > 0.0 || (i > 0 && too_long)) break;
        time_eviction();
        harness_.barrier();
        const double begin_s = clock_.now_s();
        agreed[2] = running.execute() != 0 ? 1.0 : 0.0;
        agreed[0] = clock_.now_s() - begin_s;
        harness_.maximum(agreed);
    }
    return {agreed[0], agreed[1], agreed[2] > 0.0};
}

struct Bench::Progress {
    Point point;
    std::size_t index;
    Repetition repetition;
    Estimate estimate = {};
    Measured loops = {}; /* what the repetition does not keep */
};

Result<Batch> Bench::take_batch(const Point& point, Estimate& estimate, const CountOf& count_of) {
    const auto& [operation, root, bytes, loop] = point;
    auto running = Running::create(*operation, harness_.comm(), root, bytes, options_.buffers,
                                   loop ? loop->manner : Manner{});
    const std::string what = operation->name + " of " + format_size(bytes) + " bytes ";
    double worst = static_cast<int>(running ? LW_OK : running.failure().status);
    harness_.maximum({&worst, 1});
    const auto status = static_cast<lw_status>(static_cast<int>(worst));
    if (!running && running.failure().status == status) return running.failure();
    if (status != LW_OK) return Failure{status, what + "could not be set up on every rank"};
    const Failure failed{LW_ERR_OPERATION, what + "returned an error"};
    if (harness_.any(running->prepare() != 0))
        return Failure{LW_ERR_MPI, what + "could not be set up by this MPI"};
    if (timing_->needs_global_clock || start_->needs_global_clock) refresh_global_clock();
    const auto warm = warm_up(*running, loop ? estimate.call_s : estimate.execution_s);
    if (warm.failed) return failed;
    if (loop && estimate.call_s <= 0.0) {
        const auto probed = probe(harness_, *running, *loop, options_.time_limit_s / 10.0);
        if (probed.failed) return failed;
        estimate.call_s = probed.call_s;
    }
    if (loop) {
        auto batch = time_loop(*running, point, estimate.call_s, count_of);
        if (batch.failed) return failed;
        return batch;
    }
    const double repetition_s = warm.execution_s * options_.pipeline_length + warm.eviction_s;

    const auto count = count_of(repetition_s);
    starter_.begin_batch(repetition_s);
    auto batch = time(*running, count);
    starter_.end_batch(batch.late_count, count);
    if (batch.failed) return failed;
    estimate.execution_s = started_s(batch, count) / options_.pipeline_length;
    const double scale = running->scale() / options_.pipeline_length;
    for (auto& value : batch.values_s) value = value * scale - running->beside_s();
    return batch;
}

// What another tool shows of some runs of its loop, where a call takes about so long.
Batch Bench::time_loop(Running& running, const Point& point, double call_s,
                       const CountOf& count_of) {
    const auto& loop = *point.loop;
    const auto blocks = static_cast<std::uint64_t>(loop.whole_vector ? harness_.size() : 1);
    const auto calls = loop.calls(blocks * point.message_bytes, call_s);
    const int made = loop.overlaps ? 3 * loop.series : loop.series; /* alone, and with work */
    const auto count = count_of(call_s * made * (calls.warm_up + calls.timed));
    const double begin_s = clock_.now_s();
    auto times = run_loop(harness_, running, loop, calls, count);
    for (auto *values : {&times.shown_s, &times.least_s, &times.most_s}) {
        for (auto& value : *values) value *= running.scale();
    }
    double elapsed_s = clock_.now_s() - begin_s;
    harness_.maximum({&elapsed_s, 1});
    return {.values_s = std::move(times.shown_s),
            .elapsed_s = elapsed_s,
            .failed = times.failed,
            .least_s = std::move(times.least_s),
            .most_s = std::move(times.most_s),
            .pure_s = std::move(times.pure_s),
            .work_s = std::move(times.work_s),
            .calls = calls.timed};
}

Result<Batch> Bench::run_batch(const Point& point, std::size_t count) {
    Estimate unknown;
    return take_batch(point, unknown, [count](double) { return count; });
}

Outcome Bench::advance(Progress& progress) {
    std::size_t count = 0;
    auto& estimate = progress.estimate;
    const auto batch = take_batch(progress.point, estimate, [&](double repetition_s) {
        if (estimate.repetition_s <= 0.0) estimate.repetition_s = repetition_s;
        return count = progress.repetition.next_batch(estimate.repetition_s);
    });
    if (!batch) return batch.failure();
    progress.repetition.add(batch->values_s, batch->late_count, batch->elapsed_s);
    estimate.repetition_s = batch->elapsed_s / static_cast<double>(count);
    auto& loops = progress.loops;
    append(loops.least_s, batch->least_s);
    append(loops.most_s, batch->most_s);
    append(loops.pure_s, batch->pure_s);
    append(loops.work_s, batch->work_s);
    loops.calls = batch->calls;
    return Done{};
}

Measured sum_up(const Repetition& repetition) {
    Measured measured;
    measured.values_s = repetition.values();
    auto& point = measured.point;
    const auto interval = repetition.interval();
    point.peer = point.second_peer = -1;
    point.repetitions = measured.values_s.size();
    point.late_count = repetition.late_count();
    point.outlier_count = outlier_count(measured.values_s);
    point.batch_count = repetition.batch_count();
    point.stop = repetition.stopped().value_or(LW_STOP_MAXIMUM);
    point.median_s = median(measured.values_s);
    point.low_s = interval.low;
    point.high_s = interval.high;
    point.mean_s = mean(measured.values_s);
    point.elapsed_s = repetition.elapsed_s();
    return measured;
}

Result<std::vector<Measured>> Bench::measure(
    std::span<const Point> points,
    const std::function<void(std::size_t index, const Measured&)>& done) {
    const auto prepared = prepare(points);
    if (!prepared) return prepared.failure();
    std::vector<Measured> measured(points.size());
    std::mt19937_64 random(options_.seed);
    for (std::size_t first = 0; first < points.size(); first += interleaved_max) {
        std::vector<Progress> open;
        for (std::size_t i = first; i < std::min(first + interleaved_max, points.size()); ++i) {
            open.push_back({points[i], i, Repetition(stopping_rule())});
        }
        while (!open.empty()) {
            std::shuffle(open.begin(), open.end(), random);
            for (auto& progress : open) {
                const auto taken = advance(progress);
                if (!taken) return taken.failure();
                if (!progress.repetition.stopped()) continue;
                auto& result = measured[progress.index];
                result = sum_up(progress.repetition);
                result.least_s = std::move(progress.loops.least_s);
                result.most_s = std::move(progress.loops.most_s);
                result.pure_s = std::move(progress.loops.pure_s);
                result.work_s = std::move(progress.loops.work_s);
                result.calls = progress.loops.calls;
                result.point.root = progress.point.root;
                result.point.message_bytes = progress.point.message_bytes;
                if (done) done(progress.index, result);
            }
            std::erase_if(open,
                          [](const Progress& progress) { return progress.repetition.stopped(); });
        }
    }
    return measured;
}

}  // namespace lanewise::measure
