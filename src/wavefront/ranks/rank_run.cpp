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

JobRank job_rank(MPI_Comm comm) {
    JobRank job;
    MPI_Comm_rank(comm, &job.rank);
    MPI_Comm_size(comm, &job.ranks);
    return job;
}

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

std::uint64_t agreed(MPI_Comm comm, std::uint64_t value, MPI_Op operation) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, operation, comm);
    return value;
}

template <typename Value>
Outcome agree_on(MPI_Comm comm, const Result<Value>& own) {
    return agree(comm, own ? Outcome(Done{}) : Outcome(own.failure()));
}

bool are_alike(MPI_Comm comm, const std::string& text) {
    const std::uint64_t hash = std::hash<std::string>{}(text);
    const auto least = agreed(comm, hash, MPI_MIN);
    return least == agreed(comm, hash, MPI_MAX);
}

// The same K on all ranks: what the smallest budget holds, and while some are a pass behind, what
// the passes had before.
std::uint64_t agree_on_waves(MPI_Comm comm, const Store& store, std::uint64_t planned) {
    const auto done = store.manifest().iterations;
    const auto least = agreed(comm, planned, MPI_MIN);
    const bool level = agreed(comm, done, MPI_MIN) == agreed(comm, done, MPI_MAX);
    return level ? least : store.manifest().part->waves;
}

// Whether all parts can be of one store, and go at one pace: by a hash of what they have in common.
Outcome check_alike(MPI_Comm comm, const Store& store) {
    const auto& shape = store.shape();
    const auto description = description_of(store.manifest()) + ", " + shape.layout->name +
                             ", tiles of " + std::to_string(shape.tile_columns);
    if (are_alike(comm, description)) return Done{};
    return Failure{LW_ERR_ARGUMENT, "the parts are of different stores: " + store.folder() +
                                        " has " + description +
                                        "; split one store anew for all ranks"};
}

// Whether all parts are in one run, having gone through `least` to `most` iterations: a start may
// have been noted by some ranks only.
Outcome check_same_run(MPI_Comm comm, const Store& store, std::uint64_t least, std::uint64_t most) {
    const auto& entry = store.manifest().run;
    const bool alike = are_alike(
        comm, entry ? description_of(*entry, dimensions_of(store.shape())) : std::string());
    const auto wanted = entry ? entry->iterations_wanted : 0;
    const auto least_wanted = agreed(comm, wanted, MPI_MIN);
    const bool as_many = least_wanted == agreed(comm, wanted, MPI_MAX);
    // Where one came to rest, those behind it do not know yet.
    const bool rested = entry && has_tolerance(entry->tolerance) && least_wanted > least;
    if (alike && (as_many || rested)) return Done{};
    const std::string differ =
        "the parts are in different runs, as the last start did not reach all of them; ";
    if (least == most) return Failure{LW_ERR_NOT_FOUND, differ + "start the run again"};
    return bad_argument(differ + "restore all parts from copies");
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
    return agree(comm, store.commit(manifest));
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
Outcome prepare(MpiHaloExchange& halo_exchange, const Store& store, const Borders& borders,
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
    return halo_exchange.prepare(first, last);
}

// All go at the pace of the one whose budget holds the fewest waves.
Outcome plan_together(MPI_Comm comm, const Store& store, const Kernel& kernel,
                      RunOptions& options) {
    const auto first = plan_run(store, kernel, options);
    const auto planned = agree_on(comm, first);
    if (!planned) return planned;
    options.waves = agree_on_waves(comm, store, first->waves);
    // With fewer waves parallelograms may be wider; those of passes before may not fit any more.
    const auto plan = plan_run(store, kernel, options);
    const auto fits = agree_on(comm, plan);
    if (!fits) return fits;
    if (store.shape().tile_columns)
        options.parallelogram_vectors = agreed(comm, plan->parallelogram_vectors, MPI_MIN);
    return Done{};
}

// The number of bytes of a message of MPI is an int. Parallelograms exchange parts of rows.
Outcome check_halos(const MatrixShape& shape, std::size_t halo_bytes) {
    const bool is_small = halo_bytes < std::numeric_limits<int>::max() - head_room_bytes;
    if (is_small || shape.tile_columns) return Done{};
    return Failure{LW_ERR_LIMIT,
                   "the rows that two ranks exchange have " + std::to_string(halo_bytes) +
                       " bytes, and 2 GiB are the limit; sweep smaller planes, or without ranks"};
}

Result<RunReport> work(MPI_Comm comm, JobRank job, Store& store, const Kernel& kernel,
                       RunOptions options, std::uint64_t wanted) {
    const auto& shape = store.shape();
    const auto done = store.manifest().iterations;
    const auto halo_bytes =
        kernel.radius * shape.columns * shape.data_count * element_bytes(shape.element);
    const auto possible = agree(comm, check_halos(shape, halo_bytes));
    if (!possible) return possible.failure();
    const auto pace = shape.tile_columns ? Pace::together : Pace::own;
    MpiHaloExchange halo_exchange(comm, store.folder(), halo_bytes, done, kernel.reading, pace,
                                  options.stop);
    options.halo_exchange = &halo_exchange;
    options.iterations = std::max<std::uint64_t>(wanted - done, 1);
    if (pace == Pace::together)
        options.place = place_among(comm, working_shape(kernel, shape), kernel.radius, job);
    const auto planned = plan_together(comm, store, kernel, options);
    if (!planned) return planned.failure();
    auto entry = entry_of(kernel, options, done);
    entry.iterations_wanted = wanted;
    if (!are_alike(comm, description_of(entry, dimensions_of(shape))))
        return bad_argument(
            "the ranks were given different kernels, tolerances or borders; give all the same");
    const auto noted = note_run(comm, store, options.waves, entry);
    if (!noted) return noted.failure();
    const auto prepared =
        agree(comm, pace == Pace::own
                        ? prepare(halo_exchange, store, options.borders, kernel.radius, halo_bytes)
                        : Outcome(Done{}));
    if (!prepared) return prepared.failure();
    const auto started = halo_exchange.start();
    if (!started) return started.failure();
    if (done >= wanted) {
        halo_exchange.finish();
        return RunReport{};
    }
    auto report = run(store, kernel, options);
    if (report) halo_exchange.finish();
    return report;
}

Outcome check_resumed(const Store& store) {
    const auto& entry = store.manifest().run;
    if (!entry) return Failure{LW_ERR_NOT_FOUND, store.folder() + " has no run to go on with"};
    const bool turns = entry->course && !is_plain(entry->course->directions);
    if (!turns && !entry->pause) return Done{};
    return bad_argument("the run in " + store.folder() +
                        (turns ? " goes in several directions" : " pauses between iterations") +
                        "; join the parts and resume it there");
}

// Whether a new run can begin on parts that have gone through `least` to `most` iterations.
Outcome check_new(const RunOptions& asked, std::uint64_t least, std::uint64_t most) {
    if (asked.iterations == 0)
        return bad_argument("0 iterations leave nothing to do; ask for 1 or more");
    if (least == most) return Done{};
    return bad_argument("the parts are between " + std::to_string(least) + " and " +
                        std::to_string(most) + " iterations; resume their run first");
}

/* The kernel that is named, else the one that the store was made for. */
KernelEntry kernel_of(const RankRun& asked, const std::optional<KernelEntry>& of_store) {
    const KernelEntry otherwise = of_store ? *of_store : KernelEntry{"livermore23", {}};
    if (!asked.kernel.empty() && asked.kernel != otherwise.name)
        return {asked.kernel, asked.parameters};
    return {otherwise.name, asked.parameters.empty() ? otherwise.parameters : asked.parameters};
}

}  // namespace

Outcome agree(MPI_Comm comm, const Outcome& own) {
    const auto job = job_rank(comm);
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

Result<RunReport> run_part(MPI_Comm comm, Store& store, const MakeKernel& make,
                           const RunOptions& asked, Begin begin) {
    const auto job = job_rank(comm);
    const bool resuming = begin == Begin::where_it_was;
    const auto least = agreed(comm, store.manifest().iterations, MPI_MIN);
    const auto most = agreed(comm, store.manifest().iterations, MPI_MAX);
    const auto first_row = first_row_of(comm, store, job);
    auto ready = check_alike(comm, store);
    const auto same_run =
        resuming ? check_same_run(comm, store, least, most) : check_new(asked, least, most);
    if (ready) ready = resuming ? check_resumed(store) : Outcome(Done{});
    if (ready) ready = same_run;
    if (ready) ready = check_options_of_parts(asked);
    ready = agree(comm, ready);
    if (!ready) return ready.failure();
    const bool ahead = store.shape().tile_columns && store.manifest().iterations > least;
    const auto back = agree(comm, ahead ? store.go_back(least) : Outcome(Done{}));
    if (!back) return back.failure();
    const auto done = store.manifest().iterations;
    const auto kernel = make(store, first_row);
    auto sound = kernel ? check_part(store, job, *kernel) : Outcome(kernel.failure());
    if (sound && resuming) sound = check_kernel_of_run(store, *kernel);
    sound = agree(comm, sound);
    if (!sound) return sound.failure();
    auto options = asked;
    const auto& entry = store.manifest().run;
    options.first_row = static_cast<std::uint64_t>(first_row);
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
    const auto opened = agree_on(comm, store);
    if (!opened) return opened.failure();
    const auto make = [&asked](const Store& part, std::int64_t /*first_row*/) {
        if (asked.resuming) return kernel_of_run(part);
        const auto chosen = kernel_of(asked, part.manifest().kernel);
        return make_kernel_for(chosen.name, chosen.parameters, part.shape());
    };
    const auto borders = asked.borders.empty()
                             ? Result<Borders>(asked.options.borders)
                             : parse_borders(asked.borders, dimensions_of(store->shape()));
    const auto known = agree_on(comm, borders);
    if (!known) return known.failure();
    auto options = asked.options;
    options.borders = *borders;
    return run_part(comm, *store, make, options,
                    asked.resuming ? Begin::where_it_was : Begin::anew);
}

}  // namespace lanewise::wavefront
