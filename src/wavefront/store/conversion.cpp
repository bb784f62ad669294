// SPDX-License-Identifier: BSD-3-Clause
//
// See conversion.hpp.

#include "wavefront/store/conversion.hpp"

#include <array>

#include "wavefront/plan/moving.hpp"
#include "wavefront/store/folders.hpp"

namespace lanewise::wavefront {
namespace {

MatrixShape converted_shape(const MatrixShape& from, const Conversion& wanted) {
    auto shape = with_layout(from, wanted.layout);
    if (wanted.strip_rows) shape.strip_rows = wanted.strip_rows;
    shape.tile_columns = wanted.tile_columns;
    return shape;
}

// Of the matrices that are filled.
std::uint64_t filled_bytes(const Store& store) {
    const auto& shape = store.shape();
    std::uint64_t matrices = 0;
    for (const auto& entry : store.manifest().matrices)
        if (!entry.sums.empty()) ++matrices;
    return matrices * shape.rows * shape.columns * element_bytes(shape.element);
}

}  // namespace

Result<Converted> convert_store(const Store& from, const std::string& folder,
                                const Conversion& wanted) {
    // Halos that it keeps for parts that are behind, and the state it may go back to, stay here.
    const auto& part = from.manifest().part;
    if (part && part->ranks > 1 && is_unfinished(from.manifest()))
        return bad_argument(from.folder() + " is part " + std::to_string(part->rank) + " of " +
                            std::to_string(part->ranks) +
                            " in a run that is not finished; resume it first: mpirun -n " +
                            std::to_string(part->ranks) + " lanewise-wavefront-ranks --resume");
    const auto shape = converted_shape(from.shape(), wanted);
    const auto sound = check_shape(shape);
    if (!sound) return sound.failure();
    const auto tiles = plan_moving(std::array{from.shape(), shape}, wanted.memory_bytes);
    if (!tiles) return tiles.failure();
    auto folders = wanted.disks;
    folders.push_back(folder);
    NewFolders made(folders);
    auto to = Store::create(folder, shape, names_of(from.manifest()), wanted.disks);
    if (!to) return to.failure();
    made.own();
    auto noted = to->manifest();
    noted.kernel = from.manifest().kernel;
    const auto kept = to->commit(noted);
    if (!kept) return kept.failure();
    const auto wanted_bytes = filled_bytes(from);
    auto moving = moving_watched(wanted.watch, wanted_bytes);
    moving.tiles_read = (*tiles)[0];
    moving.tiles_written = (*tiles)[1];
    const auto copied = copy_matrices(from, *to, moving);
    if (!copied) return copied.failure();
    // The last strips may have been moved when it was asked for.
    const auto complete = go_on(wanted.watch.stop);
    if (!complete) return complete.failure();
    made.keep();
    return Converted{shape, wanted_bytes};
}

}  // namespace lanewise::wavefront
