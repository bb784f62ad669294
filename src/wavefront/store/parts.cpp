// SPDX-License-Identifier: BSD-3-Clause
//
// See parts.hpp.

#include "wavefront/store/parts.hpp"

#include <algorithm>
#include <optional>

#include "wavefront/store/folders.hpp"

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

// Of so many rows of all matrices.
std::uint64_t bytes_of_rows(const MatrixShape& shape, std::uint64_t rows) {
    return shape.matrix_count() * rows * shape.columns * element_bytes(shape.element);
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
std::optional<RunEntry> run_of_whole(const std::vector<const Store *>& parts) {
    if (!is_unfinished(parts.front()->manifest())) return std::nullopt;
    auto run = parts.front()->manifest().run;
    run->borders.bottom = parts.back()->manifest().run->borders.bottom;
    return run;
}

// That `parts` are all parts of one store, in their order, and equally far.
Outcome check_parts(const std::vector<const Store *>& parts) {
    if (parts.empty()) return bad_argument("no parts to join; name their folders");
    const auto& first = *parts.front();
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        const auto& folder = parts[rank]->folder();
        const auto& manifest = parts[rank]->manifest();
        if (!manifest.part || manifest.part->rank != rank || manifest.part->ranks != parts.size())
            return bad_argument(folder + " is not part " + std::to_string(rank) + " of " +
                                std::to_string(parts.size()) + "; name all parts in their order");
        if (description_of(manifest) != description_of(first.manifest()))
            return bad_argument(folder + " and " + first.folder() +
                                " are parts of different stores: " + description_of(manifest) +
                                ", and " + description_of(first.manifest()));
        if (manifest.iterations != first.manifest().iterations)
            return bad_argument(folder + " has gone through " +
                                std::to_string(manifest.iterations) + " iterations, " +
                                first.folder() + " through " +
                                std::to_string(first.manifest().iterations) +
                                "; let lanewise-wavefront-ranks resume them first");
        if (run_text(manifest) != run_text(first.manifest()))
            return bad_argument(folder + " and " + first.folder() +
                                " are in different runs, as the last start did not reach all "
                                "parts; start the run again");
    }
    return Done{};
}

}  // namespace

Outcome split_store(const Store& whole, std::uint64_t radius,
                    const std::vector<std::string>& folders, const Watch& watch) {
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
    if (ranks < 1) return bad_argument("no parts to cut it into; name their folders");
    if (shape.rows / ranks / 2 < radius)
        return bad_argument(std::to_string(shape.rows) + " rows are too few for " +
                            std::to_string(ranks) + " parts; each needs 2 x " +
                            std::to_string(radius) + " or more");
    // The rows at each border between parts are in both halos.
    const auto moving =
        moving_watched(watch, bytes_of_rows(shape, shape.rows + 2 * radius * (ranks - 1)));
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
            const auto copied = copy_rows({{&whole, first, own.rows}}, m, *part, moving);
            if (!copied) return copied;
        }
        auto noted = part->manifest();
        noted.iterations = manifest.iterations;
        noted.part = PartEntry{rank, ranks, radius, 0};
        noted.kernel = manifest.kernel;
        noted.run = run_of_part(manifest, rank, ranks);
        const auto going_on = go_on(watch.stop);
        if (!going_on) return going_on;
        const auto kept = part->commit(noted);
        if (!kept) return kept;
    }
    made.keep();
    return Done{};
}

Outcome join_stores(const std::vector<const Store *>& parts, const std::string& target,
                    const Watch& watch) {
    const auto fit = check_parts(parts);
    if (!fit) return fit;
    const auto& first = *parts.front();
    auto shape = first.shape();
    shape.rows = 0;
    std::vector<RowRange> ranges;
    for (const auto *part : parts) {
        const auto rows = own_rows(part->manifest());
        ranges.push_back({part, rows_above(*part->manifest().part), rows});
        shape.rows += rows;
    }
    const auto moving = moving_watched(watch, bytes_of_rows(shape, shape.rows));
    NewFolders made({target});
    auto whole = Store::create(target, shape, names_of(first.manifest()), {});
    if (!whole) return whole.failure();
    made.own();
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        const auto copied = copy_rows(ranges, m, *whole, moving);
        if (!copied) return copied;
    }
    auto noted = whole->manifest();
    noted.iterations = first.manifest().iterations;
    noted.kernel = first.manifest().kernel;
    noted.run = run_of_whole(parts);
    const auto going_on = go_on(watch.stop);
    if (!going_on) return going_on;
    const auto kept = whole->commit(noted);
    if (kept) made.keep();
    return kept;
}

Outcome join_stores(const std::vector<std::string>& folders, const std::string& target) {
    std::vector<Store> opened;
    for (const auto& folder : folders) {
        auto part = Store::open(folder, Access::reading);
        if (!part) return part.failure();
        opened.push_back(std::move(*part));
    }
    std::vector<const Store *> parts;
    for (const auto& part : opened) parts.push_back(&part);
    return join_stores(parts, target);
}

}  // namespace lanewise::wavefront
