// SPDX-License-Identifier: BSD-3-Clause
//
// See border.hpp.

#include "wavefront/run/border.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::wavefront {

bool Border::meets_upper(std::uint64_t iteration, std::uint64_t band) const {
    return set_.frontiers && band == 0 && set_.frontiers->has(Side::upper) &&
           is_sent(read_above(iteration));
}

// The band of the first row that reads a row of the lower neighbour.
bool Border::meets_lower(std::uint64_t iteration, std::uint64_t band) const {
    return set_.frontiers && set_.frontiers->has(Side::lower) &&
           band == (set_.shape.rows - 2 * set_.thickness) / set_.band_rows &&
           is_sent(iteration - 1);
}

bool Border::ready(std::uint64_t iteration, std::uint64_t band) const {
    if (meets_upper(iteration, band) &&
        !set_.frontiers->ready(Side::upper, moment(read_above(iteration))))
        return false;
    return !meets_lower(iteration, band) ||
           set_.frontiers->ready(Side::lower, moment(iteration - 1));
}

void Border::before(std::uint64_t iteration, std::uint64_t band, const Locate& locate) {
    if (meets_upper(iteration, band))
        unpack(0, set_.frontiers->take(Side::upper, moment(read_above(iteration))), locate);
    if (meets_lower(iteration, band))
        unpack(set_.shape.rows - set_.thickness,
               set_.frontiers->take(Side::lower, moment(iteration - 1)), locate);
}

void Border::after(std::uint64_t iteration, std::uint64_t band, const Locate& locate) {
    if (!set_.frontiers) return;
    const auto thickness = set_.thickness;
    const auto rows = set_.shape.rows;
    if (set_.frontiers->has(Side::upper) && band == (2 * thickness - 1) / set_.band_rows)
        set_.frontiers->give(Side::upper, moment(iteration), pack(thickness, iteration, locate));
    if (set_.frontiers->has(Side::lower) && band == (rows - thickness - 1) / set_.band_rows)
        set_.frontiers->give(Side::lower, moment(iteration),
                             pack(rows - 2 * thickness, iteration, locate));
}

void Border::settle(Side side, std::uint64_t iteration, const Locate& locate) {
    if (!set_.frontiers || !set_.frontiers->has(side)) return;
    // What is read updated was there before the last wave began.
    if (side == Side::upper && set_.reading == Reading::updated) return;
    set_.frontiers->wait(side, moment(iteration));
    unpack(side == Side::upper ? 0 : set_.shape.rows - set_.thickness,
           set_.frontiers->take(side, moment(iteration)), locate);
}

// What the wave of `iteration` works on of a row in this panel.
Columns Border::columns_of(std::uint64_t row, std::uint64_t iteration) const {
    const auto wave = iteration - set_.iterations_before - 1;
    const auto gone = slant_of_row(set_.shape, set_.thickness, row) +
                      wave * columns_a_round(set_.shape, set_.thickness);
    const std::int64_t least = set_.thickness;
    const auto most = std::max(least, static_cast<std::int64_t>(set_.shape.columns) - least);
    const auto column = [&](std::int64_t vector) {
        const auto at = vector - static_cast<std::int64_t>(gone);
        return static_cast<std::uint64_t>(std::clamp(at, least, most));
    };
    return {column(set_.panel.first), column(set_.panel.end)};
}

std::byte *Border::cell(std::uint64_t row, std::uint64_t column, const Locate& locate) const {
    const auto& shape = set_.shape;
    const auto bytes = element_bytes(shape.element);
    const auto in_strip = row % shape.strip_rows;
    const auto lane = in_strip % set_.band_rows;
    auto *const band = locate(row / shape.strip_rows) + in_strip / set_.band_rows * set_.band_bytes;
    if (shape.layout == &layouts::skewed)
        return band + ((column + shape.skew * lane) * set_.band_rows + lane) * bytes;
    const auto lag = shape.layout == &layouts::slanted ? shape.skew * lane : 0;
    return band + lane * (set_.band_bytes / set_.band_rows) + (column + lag) * bytes;
}

std::vector<std::byte> Border::pack(std::uint64_t first_row, std::uint64_t iteration,
                                    const Locate& locate) const {
    const auto bytes = element_bytes(set_.shape.element);
    std::vector<std::byte> rows;
    for (std::uint64_t r = 0; r < set_.thickness; ++r) {
        auto columns = Columns{0, set_.shape.columns};
        if (in_panels()) {
            columns = columns_of(first_row + r, iteration);
            const auto *const range = reinterpret_cast<const std::byte *>(&columns);
            rows.insert(rows.end(), range, range + sizeof columns);
        }
        for (auto column = columns.first; column < columns.end; ++column) {
            const auto *const from = cell(first_row + r, column, locate);
            rows.insert(rows.end(), from, from + bytes);
        }
    }
    return rows;
}

void Border::unpack(std::uint64_t first_row, const std::vector<std::byte>& rows,
                    const Locate& locate) const {
    const auto bytes = element_bytes(set_.shape.element);
    const auto *from = rows.data();
    for (std::uint64_t r = 0; r < set_.thickness; ++r) {
        auto columns = Columns{0, set_.shape.columns};
        if (in_panels()) {
            std::memcpy(&columns, from, sizeof columns);
            from += sizeof columns;
        }
        for (auto column = columns.first; column < columns.end; ++column, from += bytes)
            std::memcpy(cell(first_row + r, column, locate), from, bytes);
    }
}

}  // namespace lanewise::wavefront
