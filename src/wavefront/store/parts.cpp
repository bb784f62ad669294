// SPDX-License-Identifier: BSD-3-Clause
//
// See parts.hpp.

#include "wavefront/store/parts.hpp"

#include <algorithm>
#include <optional>

#include "wavefront/store/folders.hpp"
#include "wavefront/store/rows_io.hpp"

namespace lanewise::wavefront {
namespace {

// Rows that `part` holds of its upper neighbour.
std::uint64_t rows_above(const PartEntry& part) {
    return part.rank > 0 ? part.halo_rows : 0;
}
std::uint64_t own_rows(const Manifest& manifest) {
    const auto& part = *manifest.part;
    return manifest.shape.rows - rows_above(part) -
           (part.rank + 1 < part.ranks ? part.halo_rows : 0);
}

// What must be alike in parts that have gone through as many iterations.
std::string run_text(const Manifest& manifest) {
    if (!is_unfinished(manifest)) return "";
    return description_of(*manifest.run, dimensions_of(manifest.shape)) +
           std::to_string(manifest.run->iterations_wanted);
}

// The run of a whole store as the part `rank` of `ranks` has it: another part has the border above
// it, or below. Where rows are periodic none has both, and the run waits for the parts to be
// joined.
std::optional<RunEntry> run_of_part(const Manifest& whole, std::size_t rank, std::size_t ranks) {
    if (!is_unfinished(whole)) return std::nullopt;
    auto run = whole.run;
    if (rows_are_periodic(run->borders)) return run;
    if (rank > 0) run->borders.top = BorderKind::fixed;
    if (rank + 1 < ranks) run->borders.bottom = BorderKind::fixed;
    return run;
}

// And the other way round.
std::optional<RunEntry> run_of_whole(const std::vector<Store>& parts) {
    if (!is_unfinished(parts.front().manifest())) return std::nullopt;
    auto run = parts.front().manifest().run;
    run->borders.bottom = parts.back().manifest().run->borders.bottom;
    return run;
}

Result<std::vector<Store>> open_parts(const std::vector<std::string>& folders) {
    std::vector<Store> parts;
    for (const auto& folder : folders) {
        auto part = Store::open(folder, Access::reading);
        if (!part) return part.failure();
        const auto& manifest = part->manifest();
        if (!manifest.part || manifest.part->rank != parts.size() ||
            manifest.part->ranks != folders.size())
            return bad_argument(folder + " is not part " + std::to_string(parts.size()) + " of " +
                                std::to_string(folders.size()) + "; name all parts in their order");
        if (!parts.empty() && description_of(manifest) != description_of(parts[0].manifest()))
            return bad_argument(folder + " and " + folders[0] +
                                " are parts of different stores: " + description_of(manifest) +
                                ", and " + description_of(parts[0].manifest()));
        if (!parts.empty() && manifest.iterations != parts[0].manifest().iterations)
            return bad_argument(folder + " has gone through " +
                                std::to_string(manifest.iterations) + " iterations, " + folders[0] +
                                " through " + std::to_string(parts[0].manifest().iterations) +
                                "; let lanewise-wavefront-ranks resume them first");
        if (!parts.empty() && run_text(manifest) != run_text(parts[0].manifest()))
            return bad_argument(folder + " and " + folders[0] +
                                " are in different runs, as the last start did not reach all "
                                "parts; start the run again");
        parts.push_back(std::move(*part));
    }
    if (parts.empty()) return bad_argument("no parts to join; name their folders");
    return parts;
}

}  // namespace

Outcome split_store(const Store& whole, std::uint64_t radius,
                    const std::vector<std::string>& folders) {
    const auto& manifest = whole.manifest();
    const auto& shape = manifest.shape;
    const auto ranks = folders.size();
    if (manifest.part && manifest.part->ranks > 1)
        return bad_argument(whole.folder() +
                            " is itself a part of a store; join the parts first, and split that");
    if (shape.vector_count())
        return bad_argument(whole.folder() +
                            " has coefficients by row or column, which parts have not; give "
                            "matrices instead");
    if (ranks < 1 || shape.rows / ranks < 2 * radius)
        return bad_argument(std::to_string(shape.rows) + " rows are too few for " +
                            std::to_string(ranks) + " parts; each needs " +
                            std::to_string(2 * radius) + " or more");
    NewFolders made(folders);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto first = rank * shape.rows / ranks - (rank > 0 ? radius : 0);
        const auto end = (rank + 1) * shape.rows / ranks + (rank + 1 < ranks ? radius : 0);
        auto own = shape;
        own.rows = end - first;
        auto part = Store::create(folders[rank], own, names_of(manifest), {});
        if (!part) return part.failure();
        made.own(folders[rank]);
        for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
            const auto copied = copy_rows({{&whole, first, own.rows}}, m, *part);
            if (!copied) return copied;
        }
        auto noted = part->manifest();
        noted.iterations = manifest.iterations;
        noted.part = PartEntry{rank, ranks, radius, 0};
        noted.kernel = manifest.kernel;
        noted.run = run_of_part(manifest, rank, ranks);
        const auto kept = part->commit(noted);
        if (!kept) return kept;
    }
    made.keep();
    return Done{};
}

Outcome join_stores(const std::vector<std::string>& folders, const std::string& target) {
    auto parts = open_parts(folders);
    if (!parts) return parts.failure();
    auto shape = (*parts)[0].shape();
    shape.rows = 0;
    std::vector<RowRange> ranges;
    for (const auto& part : *parts) {
        const auto rows = own_rows(part.manifest());
        ranges.push_back({&part, rows_above(*part.manifest().part), rows});
        shape.rows += rows;
    }
    NewFolders made({target});
    auto whole = Store::create(target, shape, names_of((*parts)[0].manifest()), {});
    if (!whole) return whole.failure();
    made.own();
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        const auto copied = copy_rows(ranges, m, *whole);
        if (!copied) return copied;
    }
    auto noted = whole->manifest();
    noted.iterations = (*parts)[0].manifest().iterations;
    noted.kernel = (*parts)[0].manifest().kernel;
    noted.run = run_of_whole(*parts);
    const auto kept = whole->commit(noted);
    if (kept) made.keep();
    return kept;
}

}  // namespace lanewise::wavefront
