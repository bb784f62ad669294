// SPDX-License-Identifier: BSD-3-Clause
//
// The measuring functions of the C API. Each checks its arguments, measures, and
// hands the samples over. No exception passes this border, and the reason for a
// failure goes to the caller's `report`.

#include <lanewise/fortran.h>
#include <lanewise/measure.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/caught.hpp"
#include "base/result.hpp"
#include "measure/agreement.hpp"
#include "measure/bench.hpp"
#include "measure/curve.hpp"
#include "measure/names.hpp"
#include "measure/round_trips.hpp"

struct lw_samples {
    std::vector<lanewise::measure::Measured> points;
};

namespace lanewise::measure {
namespace {

// Options of another size may end before `report`, or have something else in its place.
lw_status report_failure(const lw_measure_options *options, int rank, const Failure& failure) {
    const bool is_readable = options && options->struct_size == sizeof *options;
    if (is_readable && options->report && rank == 0)
        options->report(options->report_context, failure.status, failure.sentence.c_str());
    return failure.status;
}

/* Runs `body`, which returns an Outcome, and turns whatever happens into a status. */
template <typename Body>
lw_status status_of(const lw_measure_options *options, MPI_Comm comm, Body&& body) {
    int rank = 0;
    if (comm != MPI_COMM_NULL) MPI_Comm_rank(comm, &rank);
    constexpr SaysOfThrown says{
        .no_exception = "the operation threw what is no std::exception; let it return a failure"};
    const Outcome outcome = caught(says, [&]() -> Outcome {
        try {
            return body();
        } catch (const MpiFailure& failure) {
            return Failure{LW_ERR_MPI, std::string("MPI: ") + failure.what()};
        }
    });
    return outcome ? LW_OK : report_failure(options, rank, outcome.failure());
}

const Measured *at(const lw_samples *samples, size_t index) {
    return samples && index < samples->points.size() ? &samples->points[index] : nullptr;
}

// Whether ranks can speak to each other over `comm`.
Outcome admit_comm(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return bad_argument("the communicator is MPI_COMM_NULL");
    int between_groups = 0;
    check(MPI_Comm_test_inter(comm, &between_groups));
    if (between_groups)
        return bad_argument(
            "an intercommunicator cannot be measured; merge it with "
            "MPI_Intercomm_merge first");
    return Done{};
}

Outcome admit_call(const lw_measure_options *options, const void *output) {
    if (!options || !output) return bad_argument("options and the output must not be NULL");
    return Bench::admit(*options);
}

// Begins a call: `admit` looks at what this rank has passed and adds to the digest what the others
// must pass too. All ranks go on, or none.
template <typename Admit>
Outcome begin_call(MPI_Comm comm, Admit&& admit) {
    const Outcome reachable = admit_comm(comm);
    if (!reachable) return reachable;
    Digest digest;
    const Outcome admitted = admit(digest);
    return agree(comm, admitted, digest.value());
}

void add_sizes(Digest& digest, std::span<const std::uint64_t> sizes_bytes) {
    digest.add(std::uint64_t{sizes_bytes.size()});
    for (const std::uint64_t bytes : sizes_bytes) digest.add(bytes);
}

Outcome hand_over(Result<std::vector<Measured>> measured, lw_samples **samples) {
    if (!measured) return measured.failure();
    *samples = new lw_samples{std::move(*measured)};
    return Done{};
}

std::vector<Point> points_of(const lw_operation *operation, int root,
                             std::span<const std::uint64_t> sizes_bytes) {
    std::vector<Point> points;
    for (const auto bytes : sizes_bytes) points.push_back({operation, root, bytes});
    return points;
}

Result<std::vector<Measured>> measure_curve(Bench& bench, const lw_operation *operation, int root,
                                            Curve& curve) {
    std::vector<Measured> all;
    while (!curve.wanted().empty()) {
        auto wave = bench.measure(points_of(operation, root, curve.wanted()));
        if (!wave) return wave;
        std::vector<double> medians_s;
        for (const auto& measured : *wave) medians_s.push_back(measured.point.median_s);
        curve.add(medians_s);
        std::move(wave->begin(), wave->end(), std::back_inserter(all));
    }
    std::sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
        return a.point.message_bytes < b.point.message_bytes;
    });
    return all;
}

using Rounds = std::vector<Round> (*)(int);

lw_status measure_rounds(MPI_Comm comm, PairRoundPlan plan, Rounds make, lw_order order,
                         const lw_measure_options *options, lw_samples **samples) {
    return status_of(options, comm, [&]() -> Outcome {
        const Outcome begun = begin_call(comm, [&](Digest& digest) -> Outcome {
            const auto admitted = admit_call(options, samples);
            if (!admitted) return admitted;
            if (order != LW_ORDER_PARALLEL && order != LW_ORDER_SEQUENTIAL)
                return bad_argument("unknown order; use parallel or sequential");
            digest.add(*options);
            digest.add(static_cast<std::uint64_t>(order));
            digest.add(plan.there_bytes);
            digest.add(plan.back_bytes);
            return Done{};
        });
        if (!begun) return begun;
        const Bench bench(comm, *options);
        plan.rounds = make(bench.harness().size());
        if (plan.rounds.empty()) return bad_argument("too few ranks for a single pair");
        if (!are_plain(options->buffers))
            return Failure{
                LW_ERR_UNSUPPORTED,
                "pairs and triplets use buffers of the harness; keep the default buffers"};
        if (order == LW_ORDER_SEQUENTIAL) plan.rounds = one_by_one(plan.rounds);
        return hand_over(measure_pair_rounds(bench, plan), samples);
    });
}

// Thirty years: what does not fit the system's clocks must not reach them.
constexpr double wait_max_s = 1e9;

// How far this rank's global clock is from rank 0's skewed clock, both derived
// from the one true clock of the host; NaN where there is no such truth.
double true_error_s(const Bench& bench) {
    struct Skew {
        double offset_s, drift, origin_s;
    };
    const auto& clock = bench.clock();
    Skew reference{clock.offset_s, clock.drift, clock.origin_s};
    bench.harness().broadcast_value(reference);
    if (bench.options().clock != LW_CLOCK_SKEWED) return std::numeric_limits<double>::quiet_NaN();
    const double true_s = clock.true_s();
    const double local_s = true_s + (clock.offset_s + clock.drift * (true_s - clock.origin_s));
    const double wanted_s =
        true_s + (reference.offset_s + reference.drift * (true_s - reference.origin_s));
    double error_s = std::abs(bench.global_clock().at_s(local_s) - wanted_s);
    bench.harness().maximum({&error_s, 1});
    return error_s;
}

}  // namespace
}  // namespace lanewise::measure

using namespace lanewise;
using namespace lanewise::measure;

lw_status lw_timing_named(const char *name, lw_timing *timing) {
    if (!name || !timing) return LW_ERR_ARGUMENT;
    return find_id(timing_methods(), name, *timing) ? LW_OK : LW_ERR_NOT_FOUND;
}

lw_status lw_start_named(const char *name, lw_start *start) {
    if (!name || !start) return LW_ERR_ARGUMENT;
    return find_id(start_methods(), name, *start) ? LW_OK : LW_ERR_NOT_FOUND;
}

const char *lw_timing_name(lw_timing timing) {
    const auto *method = method_of(timing_methods(), timing);
    return method ? method->name : nullptr;
}

const char *lw_start_name(lw_start start) {
    const auto *method = method_of(start_methods(), start);
    return method ? method->name : nullptr;
}

lw_status lw_measure(MPI_Comm comm, const lw_operation *operation, int root,
                     const uint64_t *sizes_bytes, size_t count, const lw_measure_options *options,
                     lw_samples **samples) {
    return status_of(options, comm, [&]() -> Outcome {
        const Outcome begun = begin_call(comm, [&](Digest& digest) -> Outcome {
            const auto admitted = admit_call(options, samples);
            if (!admitted) return admitted;
            if (!operation || (count > 0 && !sizes_bytes))
                return bad_argument("operation and sizes must not be NULL");
            digest.add(*options);
            digest.add(*operation);
            digest.add(static_cast<std::uint64_t>(root));
            add_sizes(digest, {sizes_bytes, count});
            return Done{};
        });
        if (!begun) return begun;
        Bench bench(comm, *options);
        const auto points = points_of(operation, root, {sizes_bytes, count});
        return hand_over(bench.measure(points), samples);
    });
}

lw_status lw_measure_fortran(MPI_Fint comm, const lw_operation *operation, int root,
                             const uint64_t *sizes_bytes, size_t count,
                             const lw_measure_options *options, lw_samples **samples) {
    return lw_measure(MPI_Comm_f2c(comm), operation, root, sizes_bytes, count, options, samples);
}

lw_status lw_measure_curve(MPI_Comm comm, const lw_operation *operation, int root,
                           const uint64_t *sizes_bytes, size_t count, uint64_t stride_bytes_min,
                           double tolerance, const lw_measure_options *options,
                           lw_samples **samples) {
    return status_of(options, comm, [&]() -> Outcome {
        const Outcome begun = begin_call(comm, [&](Digest& digest) -> Outcome {
            const auto admitted = admit_call(options, samples);
            if (!admitted) return admitted;
            if (!operation || !sizes_bytes || count < 2)
                return bad_argument("a curve needs an operation and at least two sizes");
            if (!(tolerance > 0.0)) return bad_argument("tolerance must be above 0; 10 % is 0.1");
            digest.add(*options);
            digest.add(*operation);
            digest.add(static_cast<std::uint64_t>(root));
            add_sizes(digest, {sizes_bytes, count});
            digest.add(stride_bytes_min);
            digest.add(tolerance);
            return Done{};
        });
        if (!begun) return begun;
        Bench bench(comm, *options);
        Curve curve({sizes_bytes, count}, stride_bytes_min, tolerance);
        return hand_over(measure_curve(bench, operation, root, curve), samples);
    });
}

lw_status lw_measure_pairs(MPI_Comm comm, uint64_t there_bytes, uint64_t back_bytes, lw_order order,
                           const lw_measure_options *options, lw_samples **samples) {
    return measure_rounds(comm, {{}, there_bytes, back_bytes}, pair_rounds, order, options,
                          samples);
}

lw_status lw_measure_triplets(MPI_Comm comm, uint64_t there_bytes, uint64_t back_bytes,
                              lw_order order, const lw_measure_options *options,
                              lw_samples **samples) {
    return measure_rounds(comm, {{}, there_bytes, back_bytes}, triplet_rounds, order, options,
                          samples);
}

lw_status lw_measure_clock(MPI_Comm comm, double wait_s, const lw_measure_options *options,
                           lw_clock_report *report) {
    return status_of(options, comm, [&]() -> Outcome {
        const Outcome begun = begin_call(comm, [&](Digest& digest) -> Outcome {
            const auto admitted = admit_call(options, report);
            if (!admitted) return admitted;
            if (report->struct_size != sizeof *report)
                return bad_argument("a clock report of another size; use LW_CLOCK_REPORT");
            if (!(wait_s >= 0.0 && wait_s <= wait_max_s))
                return bad_argument("a wait of " + std::to_string(wait_s) +
                                    " seconds; name a time from 0 to 1e9 s");
            digest.add(*options);
            digest.add(wait_s);
            return Done{};
        });
        if (!begun) return begun;
        Bench bench(comm, *options);
        bench.refresh_global_clock();
        std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
        bench.harness().barrier();
        const double error_s = true_error_s(bench);
        const auto residual =
            measure_residual(bench.harness(), bench.global_clock(), bench.waiting());
        *report = {sizeof *report, residual.residual_s, residual.uncertainty_s,
                   bench.global_clock().age_s(), error_s};
        return Done{};
    });
}

size_t lw_samples_count(const lw_samples *samples) {
    return samples ? samples->points.size() : 0;
}

lw_status lw_samples_point(const lw_samples *samples, size_t index, lw_point *point) {
    const auto *measured = at(samples, index);
    if (!measured || !point || point->struct_size != sizeof *point) return LW_ERR_ARGUMENT;
    *point = measured->point;
    return LW_OK;
}

double lw_samples_median(const lw_samples *samples, size_t index) {
    const auto *measured = at(samples, index);
    return measured ? measured->point.median_s : std::numeric_limits<double>::quiet_NaN();
}

const double *lw_samples_values(const lw_samples *samples, size_t index, size_t *count) {
    const auto *measured = at(samples, index);
    if (count) *count = measured ? measured->values_s.size() : 0;
    return measured ? measured->values_s.data() : nullptr;
}

void lw_samples_free(lw_samples *samples) {
    delete samples;
}
