// SPDX-License-Identifier: BSD-3-Clause
//
// See rank_run.hpp.

#include "wavefront/ranks/rank_run.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "wavefront/plan/parallelograms.hpp"
#include "wavefront/ranks/mpi_halo_exchange.hpp"
#include "wavefront/store/rows_io.hpp"

namespace lanewise::wavefront {
namespace {

// For what goes before the values of a message.
constexpr std::uint64_t head_room_bytes = 4096;

struct JobRank {
    int rank = 0;
    int ranks = 1;
};

Outcome check_part(const Store& store, JobRank job, const Kernel& kernel) {
    const auto& part = store.manifest().part;
    const auto refuse = [&](const std::string& sentence) {
        return Failure{LW_ERR_ARGUMENT, store.folder() + sentence};
    };
    if (!part || part->rank != static_cast<std::uint64_t>(job.rank) ||
        part->ranks != static_cast<std::uint64_t>(job.ranks))
        return refuse(" is not part " + std::to_string(job.rank) + " of " +
                      std::to_string(job.ranks) + "; lanewise wavefront split makes parts");
    if (part->halo_rows != kernel.radius)
        return refuse(" was split for stencil radius " + std::to_string(part->halo_rows) + ", " +
                      kernel.name + " has " + std::to_string(kernel.radius) +
                      "; split it again with " +
                      (kernel.origin == Origin::own ? "--radius " + std::to_string(kernel.radius)
                                                    : "--kernel " + kernel.name));
    return Done{};
}

// The same K on all ranks: what the smallest budget holds, and while some are a pass behind, what
// the passes had before.
Result<std::uint64_t> agree_on_waves(MPI_Comm comm, const Store& store, std::uint64_t planned) {
    const auto done = store.manifest().iterations;
    std::uint64_t least[2] = {planned, done};
    std::uint64_t most = done;
    MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_UINT64_T, MPI_MIN, comm);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, comm);
    if (least[1] == most) return least[0];
    return store.manifest().part->waves;
}

std::uint64_t agreed(MPI_Comm comm, std::uint64_t value, MPI_Op operation) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, operation, comm);
    return value;
}

// What this rank found, or what the first one found that cannot run: nobody then waits for it.
Outcome agree(MPI_Comm comm, JobRank job, const Outcome& own) {
    const auto nobody = static_cast<std::uint64_t>(job.ranks);
    const auto first = agreed(comm, own ? nobody : static_cast<std::uint64_t>(job.rank), MPI_MIN);
    if (first == nobody) return Done{};
    const int failed = static_cast<int>(first);
    auto failure = own ? Failure{} : own.failure();
    int status = static_cast<int>(failure.status);
    MPI_Bcast(&status, 1, MPI_INT, failed, comm);
    auto length = static_cast<int>(failure.sentence.size());
    MPI_Bcast(&length, 1, MPI_INT, failed, comm);
    failure.sentence.resize(static_cast<std::size_t>(length));
    MPI_Bcast(failure.sentence.data(), length, MPI_CHAR, failed, comm);
    failure.status = static_cast<lw_status>(status);
    return failure;
}

// Whether all parts can be of one store, and go at one pace: by a hash of what they have in common.
Outcome check_alike(MPI_Comm comm, const Store& store) {
    const auto& shape = store.shape();
    const auto description = description_of(store.manifest()) + ", " + shape.layout->name +
                             ", tiles of " + std::to_string(shape.tile_columns);
    const std::uint64_t hash = std::hash<std::string>{}(description);
    const auto least = agreed(comm, hash, MPI_MIN);
    const auto most = agreed(comm, hash, MPI_MAX);
    if (least == most) return Done{};
    return Failure{LW_ERR_ARGUMENT, "the parts are of different stores: " + store.folder() +
                                        " has " + description +
                                        "; split one store anew for all ranks"};
}

// The number that the first row of this part has in the whole store.
std::int64_t first_row_of(MPI_Comm comm, const Store& store, JobRank job) {
    const auto& part = store.manifest().part;
    const auto halo = part ? part->halo_rows : 0;
    const auto above = job.rank > 0 ? halo : 0;
    const auto below = job.rank + 1 < job.ranks ? halo : 0;
    const auto own =
        static_cast<std::int64_t>(store.shape().rows) - static_cast<std::int64_t>(above + below);
    std::int64_t before = 0;
    MPI_Exscan(&own, &before, 1, MPI_INT64_T, MPI_SUM, comm);
    return job.rank > 0 ? before - static_cast<std::int64_t>(above) : 0;
}

// The slant of parallelograms goes on from part to part, from row to row as within one.
ParallelogramPlace place_among(MPI_Comm comm, const MatrixShape& shape, std::uint32_t radius,
                               JobRank job) {
    const auto slant = [&](std::uint64_t row) { return slant_of_row(shape, radius, row); };
    const bool last = job.rank + 1 == job.ranks;
    // From the first row that is this part's own to the first of the next part's.
    const auto own = job.rank > 0 ? slant(radius) : 0;
    const auto next = last ? 0 : slant(shape.rows - radius - 1) + shape.skew - own;
    std::uint64_t before = 0;
    MPI_Exscan(&next, &before, 1, MPI_UINT64_T, MPI_SUM, comm);
    ParallelogramPlace place;
    // Row 0 of a part is a row of its neighbour's.
    place.offset = job.rank > 0 ? before - own : 0;
    const auto row_blocks = (shape.rows + shape.rows_per_block - 1) / shape.rows_per_block;
    place.slant = agreed(comm, place.offset + row_blocks * columns_a_round(shape, radius), MPI_MAX);
    return place;
}

// On all ranks before any of them advances: then each knows what to go on with.
Outcome note_run(MPI_Comm comm, Store& store, std::uint64_t waves, const RunEntry& entry) {
    auto manifest = store.manifest();
    manifest.part->waves = waves;
    manifest.run = entry;
    const auto noted = store.commit(manifest);
    if (noted) MPI_Barrier(comm);
    return noted;
}

// The borders of the whole store that this part has.
Borders borders_of(Borders whole, JobRank job) {
    if (job.rank > 0) whole.top = BorderKind::fixed;
    if (job.rank + 1 < job.ranks) whole.bottom = BorderKind::fixed;
    return whole;
}

// Sets the borders within rows that lie one behind the other.
void set_within_rows(const Borders& borders, const MatrixShape& shape, std::uint64_t radius,
                     std::vector<std::byte>& rows) {
    const auto bytes = element_bytes(shape.element);
    const auto row_bytes = shape.columns * bytes;
    for (std::size_t at = 0; at < rows.size(); at += row_bytes)
        set_border_columns(borders, rows.data() + at, shape.columns, shape.line_columns, radius,
                           bytes);
}

// With the part's own rows at both ends, beside those of its neighbours.
Outcome begin(MpiHaloExchange& halo_exchange, const Store& store, const Borders& borders,
              std::uint64_t radius, std::size_t halo_bytes) {
    const auto& part = *store.manifest().part;
    const auto above = part.rank > 0 ? radius : 0;
    const auto below = part.rank + 1 < part.ranks ? radius : 0;
    std::vector<std::byte> first(halo_bytes);
    std::vector<std::byte> last(halo_bytes);
    const auto end = store.shape().rows - below;
    const auto matrix_bytes = halo_bytes / store.shape().data_count;
    for (std::uint32_t m = 0; m < store.shape().data_count; ++m) {
        const auto read_first = read_rows(store, m, above, radius, first.data() + m * matrix_bytes);
        if (!read_first) return read_first;
        const auto read_last =
            read_rows(store, m, end - radius, radius, last.data() + m * matrix_bytes);
        if (!read_last) return read_last;
    }
    set_within_rows(borders, store.shape(), radius, first);
    set_within_rows(borders, store.shape(), radius, last);
    return halo_exchange.begin(first, last);
}

Result<RunReport> work(MPI_Comm comm, JobRank job, Store& store, const Kernel& kernel,
                       RunOptions options, std::uint64_t wanted) {
    const auto& shape = store.shape();
    const auto done = store.manifest().iterations;
    const auto halo_bytes =
        kernel.radius * shape.columns * shape.data_count * element_bytes(shape.element);
    const auto pace = shape.tile_columns ? Pace::together : Pace::own;
    // The number of bytes of a message of MPI is an int. Parallelograms exchange parts of rows.
    const bool is_small = halo_bytes < std::numeric_limits<int>::max() - head_room_bytes;
    const Outcome fits = is_small || pace == Pace::together
                             ? Outcome(Done{})
                             : Failure{LW_ERR_LIMIT, "the rows that two ranks exchange have " +
                                                         std::to_string(halo_bytes) +
                                                         " bytes, and 2 GiB are the limit; sweep "
                                                         "smaller planes, or without ranks"};
    const auto possible = agree(comm, job, fits);
    if (!possible) return possible.failure();
    MpiHaloExchange halo_exchange(comm, store.folder(), halo_bytes, done, kernel.reading, pace);
    options.halo_exchange = &halo_exchange;
    options.iterations = std::max<std::uint64_t>(wanted - done, 1);
    if (pace == Pace::together)
        options.place = place_among(comm, working_shape(kernel, shape), kernel.radius, job);
    const auto plan = plan_run(store, kernel, options);
    const auto planned = agree(comm, job, plan ? Outcome(Done{}) : Outcome(plan.failure()));
    if (!planned) return planned.failure();
    const auto waves = agree_on_waves(comm, store, plan->waves);
    if (!waves) return waves.failure();
    options.waves = *waves;
    if (pace == Pace::together) {
        // With fewer waves parallelograms may be wider.
        const auto narrower = plan_run(store, kernel, options);
        const auto found =
            agree(comm, job, narrower ? Outcome(Done{}) : Outcome(narrower.failure()));
        if (!found) return found.failure();
        options.parallelogram_vectors = agreed(comm, narrower->parallelogram_vectors, MPI_MIN);
    }
    auto entry = entry_of(kernel, options, done);
    entry.iterations_wanted = wanted;
    const auto noted = note_run(comm, store, *waves, entry);
    if (!noted) return noted.failure();
    if (pace == Pace::together) {
        halo_exchange.begin_together();
    } else {
        const auto begun = begin(halo_exchange, store, options.borders, kernel.radius, halo_bytes);
        if (!begun) return begun.failure();
    }
    if (done >= wanted) {
        halo_exchange.finish();
        return RunReport{};
    }
    auto report = run(store, kernel, options);
    if (report) halo_exchange.finish();
    return report;
}

// Whether a run can begin on this part, or go on; `least` and `most` iterations have the parts.
Outcome check_begin(const Store& store, Begin begin, std::uint64_t least, std::uint64_t most) {
    const auto& entry = store.manifest().run;
    const bool resuming = begin == Begin::where_it_was;
    if (resuming && !entry)
        return Failure{LW_ERR_NOT_FOUND, store.folder() + " has no run to go on with"};
    if (resuming && entry->course && !is_plain(entry->course->directions))
        return Failure{LW_ERR_ARGUMENT, "the run in " + store.folder() +
                                            " goes in several directions; join the parts and "
                                            "resume it there"};
    if (!resuming && least != most)
        return Failure{LW_ERR_ARGUMENT, "the parts are between " + std::to_string(least) + " and " +
                                            std::to_string(most) +
                                            " iterations; go on with their run by --resume"};
    return Done{};
}

/* The kernel that is named, else the one that the store was made for. */
KernelEntry kernel_of(const RankRun& asked, const std::optional<KernelEntry>& of_store) {
    const KernelEntry otherwise = of_store ? *of_store : KernelEntry{"livermore23", {}};
    if (!asked.kernel.empty() && asked.kernel != otherwise.name)
        return {asked.kernel, asked.parameters};
    return {otherwise.name, asked.parameters.empty() ? otherwise.parameters : asked.parameters};
}

}  // namespace

Result<RunReport> run_part(MPI_Comm comm, Store& store, const MakeKernel& make,
                           const RunOptions& asked, Begin begin) {
    JobRank job;
    MPI_Comm_rank(comm, &job.rank);
    MPI_Comm_size(comm, &job.ranks);
    const bool resuming = begin == Begin::where_it_was;
    const auto least = agreed(comm, store.manifest().iterations, MPI_MIN);
    const auto most = agreed(comm, store.manifest().iterations, MPI_MAX);
    const auto first_row = first_row_of(comm, store, job);
    const auto alike = check_alike(comm, store);
    auto ready = check_begin(store, begin, least, most);
    if (ready) ready = alike;
    if (ready) ready = check_options_of_parts(asked);
    ready = agree(comm, job, ready);
    if (!ready) return ready.failure();
    if (store.shape().tile_columns && store.manifest().iterations > least) {
        const auto back = store.go_back(least);
        if (!back) return back.failure();
    }
    const auto done = store.manifest().iterations;
    const auto kernel = make(store, first_row);
    auto sound = kernel ? check_part(store, job, *kernel) : Outcome(kernel.failure());
    if (sound && resuming) sound = check_kernel_of_run(store, *kernel);
    sound = agree(comm, job, sound);
    if (!sound) return sound.failure();
    auto options = asked;
    const auto& entry = store.manifest().run;
    options.borders = resuming ? entry->borders : borders_of(asked.borders, job);
    if (resuming) options.tolerance = entry->tolerance;
    if (resuming && entry->course) options.iterations_done = done - entry->course->first_iteration;
    // Those that are ahead went on because no part had come to rest.
    options.tested_from = most;
    // One that came to rest wants no more iterations; those behind it may not know yet.
    const auto wanted =
        agreed(comm, resuming ? entry->iterations_wanted : done + asked.iterations, MPI_MIN);
    return work(comm, job, store, *kernel, options, wanted);
}

Result<RunReport> run_rank(MPI_Comm comm, const RankRun& asked) {
    auto store = Store::open(asked.folder, Access::changing);
    if (!store) return store.failure();
    const auto make = [&asked](const Store& part, std::int64_t /*first_row*/) {
        if (asked.resuming) return kernel_of_run(part);
        const auto chosen = kernel_of(asked, part.manifest().kernel);
        return make_kernel_for(chosen.name, chosen.parameters, part.shape());
    };
    auto options = asked.options;
    if (!asked.borders.empty()) {
        const auto borders = parse_borders(asked.borders, dimensions_of(store->shape()));
        if (!borders) return borders.failure();
        options.borders = *borders;
    }
    return run_part(comm, *store, make, options,
                    asked.resuming ? Begin::where_it_was : Begin::anew);
}

}  // namespace lanewise::wavefront
