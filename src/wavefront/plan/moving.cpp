// SPDX-License-Identifier: BSD-3-Clause
//
// See moving.hpp.

#include "wavefront/plan/moving.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "wavefront/plan/request.hpp"

namespace lanewise::wavefront {
namespace {

// Long tiles are cut into transfers by the queue; one of them may go while the other is worked on.
constexpr std::uint64_t bytes_under_way = 2 * bytes_that_fill_disk;
constexpr std::uint64_t tiles_min = 2;
constexpr std::uint64_t tiles_max = 64;

// A tile is taken apart into rows of its own before they join those of the strip.
std::uint64_t least_bytes(const MatrixShape& shape) {
    const auto columns = shape.columns + shape.tile_columns;
    return shape.strip_rows * columns * element_bytes(shape.element) +
           tiles_min * tile_bytes(shape) + sums_bytes(shape);
}

}  // namespace

std::uint64_t tiles_under_way(std::uint64_t tile_bytes) {
    return std::clamp(bytes_under_way / tile_bytes, tiles_min, tiles_max);
}

Result<std::vector<std::uint64_t>> plan_moving(std::span<const MatrixShape> stores,
                                               std::uint64_t memory_bytes) {
    std::uint64_t needed_bytes = program_bytes;
    for (const auto& shape : stores) needed_bytes += least_bytes(shape);
    if (memory_bytes < needed_bytes)
        return Failure{LW_ERR_ARGUMENT, "a memory budget of " + size_text(memory_bytes) +
                                            " is too small to move strips of this store; give it "
                                            "--memory " +
                                            size_text(round_up_mebibyte(needed_bytes)) +
                                            " or more"};
    const auto share_bytes = (memory_bytes - needed_bytes) / stores.size();
    std::vector<std::uint64_t> tiles;
    for (const auto& shape : stores) {
        const auto fitting = tiles_min + share_bytes / tile_bytes(shape);
        tiles.push_back(std::min(fitting, tiles_under_way(tile_bytes(shape))));
    }
    return tiles;
}

}  // namespace lanewise::wavefront
