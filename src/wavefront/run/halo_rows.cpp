// SPDX-License-Identifier: BSD-3-Clause
//
// See halo_rows.hpp.

#include "wavefront/run/halo_rows.hpp"

#include <algorithm>
#include <cstring>

#include "wavefront/stop.hpp"

namespace lanewise::wavefront {

bool HaloRows::meets_upper(std::uint64_t iteration, std::uint64_t row_block) const {
    return set_.halo_exchange && row_block == 0 && set_.halo_exchange->has(Side::upper) &&
           is_sent(read_above(iteration));
}

// The row block of the first row that reads a row of the lower neighbour.
bool HaloRows::meets_lower(std::uint64_t iteration, std::uint64_t row_block) const {
    return set_.halo_exchange && set_.halo_exchange->has(Side::lower) &&
           row_block == (set_.shape.rows - std::uint64_t{2} * set_.radius) / set_.rows_per_block &&
           is_sent(iteration - 1);
}

bool HaloRows::ready(std::uint64_t iteration, std::uint64_t row_block) const {
    if (meets_upper(iteration, row_block) &&
        !set_.halo_exchange->ready(Side::upper, version(read_above(iteration))))
        return false;
    return !meets_lower(iteration, row_block) ||
           set_.halo_exchange->ready(Side::lower, version(iteration - 1));
}

void HaloRows::before(std::uint64_t iteration, std::uint64_t row_block, const Locate& locate) {
    if (meets_upper(iteration, row_block))
        unpack(0, set_.halo_exchange->receive(Side::upper, version(read_above(iteration))), locate);
    if (meets_lower(iteration, row_block))
        unpack(set_.shape.rows - set_.radius,
               set_.halo_exchange->receive(Side::lower, version(iteration - 1)), locate);
}

void HaloRows::after(std::uint64_t iteration, std::uint64_t row_block, const Locate& locate) {
    if (!set_.halo_exchange) return;
    const std::uint64_t radius = set_.radius;
    const std::uint64_t rows = set_.shape.rows;
    if (set_.halo_exchange->has(Side::upper) && row_block == (2 * radius - 1) / set_.rows_per_block)
        set_.halo_exchange->send(Side::upper, version(iteration), pack(radius, iteration, locate));
    if (set_.halo_exchange->has(Side::lower) &&
        row_block == (rows - radius - 1) / set_.rows_per_block)
        set_.halo_exchange->send(Side::lower, version(iteration),
                                 pack(rows - 2 * radius, iteration, locate));
}

Outcome HaloRows::settle(Side side, std::uint64_t iteration, const Locate& locate) {
    if (!set_.halo_exchange || !set_.halo_exchange->has(side)) return Done{};
    // What is read updated was there before the last wave began.
    if (side == Side::upper && set_.reading == Reading::updated) return Done{};
    if (!set_.halo_exchange->wait(side, version(iteration)))
        return Failure{LW_ERR_OPERATION, stopped_sentence};
    unpack(side == Side::upper ? 0 : set_.shape.rows - set_.radius,
           set_.halo_exchange->receive(side, version(iteration)), locate);
    return Done{};
}

// The columns of a row that the wave of `iteration` works on in this parallelogram.
Columns HaloRows::columns_of(std::uint64_t row, std::uint64_t iteration) const {
    const auto wave = iteration - set_.iterations_before - 1;
    const auto gone = slant_of_row(set_.shape, set_.radius, row) +
                      wave * columns_a_round(set_.shape, set_.radius);
    const std::int64_t least = set_.radius;
    const auto most = std::max(least, static_cast<std::int64_t>(set_.shape.columns) - least);
    const auto column = [&](std::int64_t vector) {
        const auto at = vector - static_cast<std::int64_t>(gone);
        return static_cast<std::uint64_t>(std::clamp(at, least, most));
    };
    return {column(set_.parallelogram.first), column(set_.parallelogram.end)};
}

// `strip`: that of the row, of the matrix that is meant.
std::byte *HaloRows::cell(std::uint64_t row, std::uint64_t column, std::byte *strip) const {
    const auto& shape = set_.shape;
    const auto bytes = element_bytes(shape.element);
    const auto in_strip = row % shape.strip_rows;
    const auto lane = in_strip % set_.rows_per_block;
    auto *const row_block = strip + in_strip / set_.rows_per_block * set_.row_block_bytes;
    if (shape.layout == &layouts::skewed)
        return row_block + ((column + shape.skew * lane) * set_.rows_per_block + lane) * bytes;
    const auto lag = shape.layout == &layouts::slanted ? shape.skew * lane : 0;
    return row_block + lane * (set_.row_block_bytes / set_.rows_per_block) + (column + lag) * bytes;
}

std::vector<std::byte> HaloRows::pack(std::uint64_t first_row, std::uint64_t iteration,
                                      const Locate& locate) const {
    const auto bytes = element_bytes(set_.shape.element);
    std::vector<std::byte> rows;
    for (std::uint32_t m = 0; m < set_.shape.data_count; ++m) {
        for (auto row = first_row; row < first_row + set_.radius; ++row) {
            auto columns = Columns{0, set_.shape.columns};
            if (in_parallelograms()) {
                columns = columns_of(row, iteration);
                const auto *const range = reinterpret_cast<const std::byte *>(&columns);
                rows.insert(rows.end(), range, range + sizeof columns);
            }
            auto *const strip = locate(row / set_.shape.strip_rows, m);
            for (auto column = columns.first; column < columns.end; ++column) {
                const auto *const from = cell(row, column, strip);
                rows.insert(rows.end(), from, from + bytes);
            }
        }
    }
    return rows;
}

void HaloRows::unpack(std::uint64_t first_row, const std::vector<std::byte>& rows,
                      const Locate& locate) const {
    const auto bytes = element_bytes(set_.shape.element);
    const auto *from = rows.data();
    for (std::uint32_t m = 0; m < set_.shape.data_count; ++m) {
        for (auto row = first_row; row < first_row + set_.radius; ++row) {
            auto columns = Columns{0, set_.shape.columns};
            if (in_parallelograms()) {
                std::memcpy(&columns, from, sizeof columns);
                from += sizeof columns;
            }
            auto *const strip = locate(row / set_.shape.strip_rows, m);
            for (auto column = columns.first; column < columns.end; ++column, from += bytes)
                std::memcpy(cell(row, column, strip), from, bytes);
        }
    }
}

}  // namespace lanewise::wavefront
