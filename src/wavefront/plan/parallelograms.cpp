// SPDX-License-Identifier: BSD-3-Clause
//
// See parallelograms.hpp.

#include "wavefront/plan/parallelograms.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::wavefront {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
    return (value + step - 1) / step * step;
}

// `value` - `off`, not below 0 and not above `limit`.
std::uint64_t less(std::uint64_t value, std::uint64_t off, std::uint64_t limit) {
    return value > off ? std::min(value - off, limit) : 0;
}

struct Choice {
    std::uint64_t waves = 1;
    std::uint64_t width = 0;
    std::uint64_t memory_bytes = 0;
    double reads_per_iteration = 0.0; /* of every byte */
};

std::uint64_t buffers_for(const Request& request, std::uint64_t waves) {
    return std::min(strips_in_work(request, waves, request.shape.rows_per_block, Order::tiled) + 1,
                    request.shape.strip_count());
}

std::uint64_t memory_for_parallelograms(const Request& request, std::uint64_t waves,
                                        std::uint64_t width) {
    const auto& shape = request.shape;
    const ParallelogramGeometry geometry(shape, request.radius, waves, width, request.place);
    const auto columns = std::min(width + std::uint64_t{2} * request.radius, shape.columns);
    return own_memory_bytes(shape, request.threads) + request.pause_bytes +
           halo_bytes(request, waves, columns) + thread_rows_bytes(request, columns) +
           parallelogram_memory(shape, request.disk_layout, request.second_copies, geometry)
               .bytes(buffers_for(request, waves));
}

// The widest parallelograms that fit, in whole tiles; none where not even one tile fits.
std::optional<Choice> widest(const Request& request, std::uint64_t waves) {
    const auto tile = request.shape.tile_columns;
    const auto choice = [&](std::uint64_t width) {
        const auto twice =
            static_cast<double>((waves + 2) * columns_a_round(request.shape, request.radius));
        return Choice{waves, width, memory_for_parallelograms(request, waves, width),
                      (1.0 + twice / static_cast<double>(width)) / static_cast<double>(waves)};
    };
    // Ranks have agreed on a width that fits everywhere.
    if (request.parallelogram_vectors) return choice(request.parallelogram_vectors);
    const auto fits = [&](std::uint64_t tiles) {
        return memory_for_parallelograms(request, waves, tiles * tile) <= request.memory_bytes;
    };
    if (!fits(1)) return std::nullopt;
    const auto& shape = request.shape;
    const auto step = columns_a_round(shape, request.radius);
    const auto most =
        (shape.row_elements() + step * (shape.rows / shape.rows_per_block + waves)) / tile + 1;
    std::uint64_t tiles = 1;
    for (auto more = most; more > 0; more /= 2) {
        while (tiles + more <= most && fits(tiles + more)) tiles += more;
    }
    return choice(tiles * tile);
}

void count_bytes(const Request& request, const ParallelogramGeometry& geometry, Plan& plan) {
    const auto& shape = request.shape;
    const auto tile = tile_bytes(with_layout(shape, request.disk_layout));
    const auto carried = shape.data_count + request.second_copies;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    for (std::uint64_t p = 0; p < geometry.parallelograms(); ++p) {
        for (std::uint64_t s = 0; s < shape.strip_count(); ++s) {
            const auto window = geometry.window(s, p);
            const auto data = window.data_tiles[1] - window.data_tiles[0];
            const auto others = window.coefficient_tiles[1] - window.coefficient_tiles[0];
            const auto done = window.done_tiles[1] - window.done_tiles[0];
            read += tile * (shape.data_count * data + shape.coefficient_count * others) +
                    carried * carried_bytes(geometry, window.carried_in());
            written += tile * shape.data_count * done +
                       carried * carried_bytes(geometry, window.carried_out());
        }
    }
    plan.read_bytes = plan.passes * read;
    plan.written_bytes = plan.passes * written;
}

}  // namespace

std::uint64_t slant_of_row(const MatrixShape& shape, std::uint32_t radius, std::uint64_t row) {
    return row / shape.rows_per_block * columns_a_round(shape, radius) +
           row % shape.rows_per_block * shape.skew;
}

ParallelogramGeometry::ParallelogramGeometry(const MatrixShape& shape, std::uint32_t radius,
                                             std::uint64_t waves,
                                             std::uint64_t parallelogram_vectors,
                                             const ParallelogramPlace& place)
    : shape_(shape),
      step_(columns_a_round(shape, radius)),
      waves_(waves),
      width_(parallelogram_vectors),
      row_blocks_((shape.rows + shape.rows_per_block - 1) / shape.rows_per_block),
      place_(place) {
    // The last wave has to get to the end of the last row block.
    const auto way =
        shape.row_elements() + std::max(place.slant, step_ * row_blocks_) + step_ * waves_;
    parallelograms_ = (way + width_ - 1) / width_;
}

// No wave updates or reads anything left of it in this parallelogram or a later one.
std::uint64_t ParallelogramGeometry::first_needed(std::uint64_t strip,
                                                  std::uint64_t parallelogram) const {
    const auto all = shape_.tiles_in_strip() * shape_.tile_columns;
    if (parallelogram >= parallelograms_) return all;
    const auto last_row_block = std::min((strip + 1) * row_blocks_in_strip(), row_blocks_) - 1;
    const auto off = place_.offset + step_ * (last_row_block + waves_ + 1) + lag();
    const auto first = less(parallelogram * width_, off, all);
    return first / shape_.tile_columns * shape_.tile_columns;
}

// This parallelogram neither updates nor reads anything right of it.
std::uint64_t ParallelogramGeometry::end_needed(std::uint64_t strip,
                                                std::uint64_t parallelogram) const {
    const auto first_row_block = strip * row_blocks_in_strip();
    return less((parallelogram + 1) * width_ + 2 * step_, place_.offset + step_ * first_row_block,
                shape_.row_elements());
}

Window ParallelogramGeometry::window(std::uint64_t strip, std::uint64_t parallelogram) const {
    const auto tile = shape_.tile_columns;
    const auto tile_end = [&](std::uint64_t column) {
        return (std::min(column, shape_.columns) + tile - 1) / tile;
    };
    Window window;
    window.first = first_needed(strip, parallelogram);
    window.end = end_needed(strip, parallelogram);
    window.known_end = parallelogram > 0 ? end_needed(strip, parallelogram - 1) : 0;
    const auto next = first_needed(strip, parallelogram + 1);
    window.done_tiles[0] = window.first / tile;
    window.done_tiles[1] = next / tile;
    window.carried_first = window.end;
    if (window.vectors() == 0) return window;
    if (parallelogram + 1 < parallelograms_) window.carried_first = next;
    window.coefficient_tiles[0] = window.first / tile;
    window.coefficient_tiles[1] = std::max(tile_end(window.end), window.coefficient_tiles[0]);
    if (window.end <= window.known_end) return window;
    const auto fresh = less(window.known_end, lag(), shape_.columns);
    window.data_tiles[0] = std::min(fresh / tile, shape_.tiles_in_strip());
    window.data_tiles[1] = std::max(tile_end(window.end), window.data_tiles[0]);
    return window;
}

std::uint64_t ParallelogramGeometry::window_vectors_max() const {
    const auto wide = width_ + carried_vectors_max();
    return std::min(wide, shape_.row_elements());
}

std::uint64_t ParallelogramGeometry::carried_vectors_max() const {
    const auto wide = step_ * (row_blocks_in_strip() + waves_ + 3) + lag() + shape_.tile_columns;
    return std::min(wide, shape_.row_elements());
}

std::uint64_t ParallelogramGeometry::tiles_max() const {
    return std::min(window_vectors_max() / shape_.tile_columns + 2, shape_.tiles_in_strip());
}

std::uint64_t ParallelogramGeometry::row_block_bytes(std::uint64_t vectors) const {
    return vectors * shape_.rows_per_block * element_bytes(shape_.element);
}

std::uint64_t ParallelogramGeometry::strip_window_bytes(std::uint64_t vectors) const {
    return row_blocks_in_strip() * row_block_bytes(vectors);
}

std::uint64_t carried_bytes(const ParallelogramGeometry& geometry, std::uint64_t vectors) {
    return round_up(geometry.strip_window_bytes(vectors), disk_block_bytes);
}

std::uint64_t ParallelogramMemory::slots_bytes(std::uint64_t buffers) const {
    return round_up(buffers * slots * slot_bytes, disk_block_bytes);
}

ParallelogramMemory parallelogram_memory(const MatrixShape& shape, const Layout *disk_layout,
                                         std::uint32_t second_copies,
                                         const ParallelogramGeometry& geometry) {
    const auto tile = tile_bytes(with_layout(shape, disk_layout));
    const auto carried = (shape.data_count + second_copies) *
                         carried_bytes(geometry, geometry.carried_vectors_max());
    const auto slot = geometry.strip_window_bytes(geometry.window_vectors_max());
    return {.slot_bytes = round_up(slot, disk_block_bytes) + stagger_bytes,
            .load_bytes = shape.matrix_count() * geometry.tiles_max() * tile + carried,
            .store_bytes = shape.data_count * geometry.tiles_max() * tile + carried,
            .slots = shape.matrix_count() + second_copies};
}

Result<Plan> make_parallelogram_plan(const Request& request) {
    const auto wanted = wanted_waves(request);
    std::optional<Choice> best;
    for (auto waves = wanted; waves > 0; waves /= 2) {
        const auto choice = widest(request, waves);
        if (choice && (!best || choice->reads_per_iteration < best->reads_per_iteration))
            best = choice;
        if (request.waves) break;
    }
    Plan plan;
    plan.memory_bytes_min =
        memory_for_parallelograms(request, request.waves ? wanted : 1, request.shape.tile_columns);
    if (!best) return too_small(request, plan.memory_bytes_min);
    divide_into_passes(request, best->waves, plan);
    plan.tiling = choose_tiling(request, plan.waves, Order::tiled);
    plan.threads =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(request.threads, plan.tiling.groups));
    plan.rows_per_block = request.shape.rows_per_block;
    plan.parallelogram_vectors = best->width;
    const ParallelogramGeometry geometry(request.shape, request.radius, plan.waves, best->width,
                                         request.place);
    plan.parallelograms = geometry.parallelograms();
    plan.buffers = buffers_for(request, best->waves);
    plan.memory_bytes = best->memory_bytes;
    count_bytes(request, geometry, plan);
    estimate_time(request, plan);
    return plan;
}

}  // namespace lanewise::wavefront
