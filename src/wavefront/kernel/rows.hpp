// SPDX-License-Identifier: BSD-3-Clause
//
// Rows: a row block that is updated row by row and cell by cell.
//
// A kernel that reads the previous iteration (Jacobi) keeps the last 2 `radius` + 1 rows
// as they were in its scratch memory, since the wave has overwritten them. In a
// parallelogram it would also need what it overwrote in the parallelogram before: there
// the data are in memory twice, and waves alternately read one copy and write the other.

#pragma once

#include <cstring>

#include <lanewise/wavefront/half.hpp>
#include <lanewise/wavefront/row_block.hpp>
#include "wavefront/kernel/cells.hpp"
#include "wavefront/layout/borders.hpp"

namespace lanewise::wavefront {

/* Row `row` of a matrix, which may lie in the row block above, in this one or in the one below. */
inline std::byte *row_at(const RowBlock& row_block, std::uint32_t matrix, std::uint64_t row) {
    const auto count = static_cast<std::int64_t>(row_block.rows_per_block);
    const auto offset =
        static_cast<std::int64_t>(row) - static_cast<std::int64_t>(row_block.first_row);
    if (offset < 0) return row_block.above[matrix] + (offset + count) * row_block.row_bytes;
    if (offset < count) return row_block.here[matrix] + offset * row_block.row_bytes;
    return row_block.below[matrix] + (offset - count) * row_block.row_bytes;
}

/* Whether a kernel that reads the previous iteration finds it in its scratch memory only. */
inline bool overwrites(const RowBlock& row_block) {
    return row_block.reads == row_block.writes;
}

inline std::byte *kept_row(const RowBlock& row_block, std::uint32_t matrix, std::uint64_t row,
                           std::uint64_t row_bytes, std::uint64_t kept_count) {
    return row_block.scratch + (matrix * kept_count + row % kept_count) * row_bytes;
}

inline bool is_interior(const RowBlock& row_block, std::uint64_t row, std::uint64_t radius) {
    return row >= row_block.rows_before + radius && row + radius < row_block.rows;
}

/* Where the row lies that is `down` rows below the one at `row`; a negative number: above. */
inline std::uint64_t row_below(const RowBlock& row_block, std::uint64_t row, std::int64_t down) {
    const auto offset = static_cast<std::uint64_t>(down);
    return row_block.up ? row - offset : row + offset;
}

/* Sets the borders within a row that has been updated, in each data matrix; lines of so many
 * columns make it a plane. */
inline void set_border_columns(const Step& step, const RowBlock& row_block, std::uint64_t row,
                               std::uint64_t line_columns, std::uint64_t radius,
                               std::uint64_t bytes) {
    if (!step.borders) return;
    for (std::uint32_t m = 0; m < row_block.data_count; ++m)
        set_border_columns(*step.borders, row_at(row_block, row_block.writes + m, row),
                           row_block.columns, line_columns, radius, bytes);
}

/* How the columns of a row lie and in which order they are updated. */
enum class Way { rightwards, leftwards, mirrored };

template <Way way, typename Stored, typename Cell, typename Observer>
void update_row(const Cell& cell, Stored *out, const Stored *const *rows,
                const Stored *const *coefficients, Columns columns, Observer& observer) {
    using Real = arithmetic_t<Stored>;
    struct Data {
        const Stored *const *rows;
        std::uint64_t column;
        Real operator()(int down, int right) const {
            const auto ahead = way == Way::mirrored ? -right : right;
            return rows[down + Cell::radius][static_cast<std::int64_t>(column) + ahead];
        }
    };
    struct Coefficients {
        const Stored *const *rows;
        std::uint64_t column;
        Real operator()(unsigned matrix) const { return rows[matrix][column]; }
    };
    const auto update = [&](std::uint64_t j) {
        const Real before = rows[Cell::radius][j];
        const Stored after = cell(Data{rows, j}, Coefficients{coefficients, j});
        out[j] = after;
        observer.see(before, static_cast<Real>(after));
    };
    if constexpr (Cell::reads == Reads::previous) {
        // What is read was kept apart from what is written: the compiler may take several cells.
#ifndef __clang__
#pragma GCC ivdep
#endif
        for (std::uint64_t j = columns.first; j < columns.end; ++j) update(j);
    } else if constexpr (way == Way::leftwards) {
        for (std::uint64_t j = columns.end; j-- > columns.first;) update(j);
    } else {
        for (std::uint64_t j = columns.first; j < columns.end; ++j) update(j);
    }
}

/* RowBlockFunction of a cell with one data matrix. */
template <typename Stored, typename Cell, typename Observer>
double update_rows(const void *parameters, const Step& step, const RowBlock& row_block) {
    const Cell& cell = *static_cast<const Cell *>(parameters);
    constexpr std::uint64_t radius = Cell::radius;
    constexpr std::uint64_t kept_count = 2 * radius + 1;
    const auto row_bytes = row_block.columns * sizeof(Stored);
    const bool keeping = Cell::reads == Reads::previous && overwrites(row_block);
    const auto row_of = [&](std::uint32_t matrix, std::uint64_t row) {
        return reinterpret_cast<Stored *>(row_at(row_block, matrix, row));
    };
    Observer observer;
    for (auto row = row_block.first_row; row < row_block.first_row + row_block.row_count; ++row) {
        Stored *const out = row_of(row_block.writes, row);
        if (keeping)
            std::memcpy(kept_row(row_block, 0, row, row_bytes, kept_count), out, row_bytes);
        const auto columns = columns_of_row(step, row_block, row, radius);
        if (!is_interior(row_block, row, radius) || columns.first >= columns.end) continue;
        const Stored *rows[kept_count];
        for (std::uint64_t i = 0; i < kept_count; ++i) {
            const auto down = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(radius);
            const auto other = row_below(row_block, row, down);
            rows[i] = keeping && other <= row ? reinterpret_cast<const Stored *>(kept_row(
                                                    row_block, 0, other, row_bytes, kept_count))
                                              : row_of(row_block.reads, other);
        }
        const Stored *coefficients[Cell::coefficients];
        for (unsigned m = 0; m < Cell::coefficients; ++m) coefficients[m] = row_of(1 + m, row);
        if (row_block.mirrored)
            update_row<Way::mirrored>(cell, out, rows, coefficients, columns, observer);
        else if (row_block.leftwards)
            update_row<Way::leftwards>(cell, out, rows, coefficients, columns, observer);
        else
            update_row<Way::rightwards>(cell, out, rows, coefficients, columns, observer);
        set_border_columns(step, row_block, row, 0, radius, sizeof(Stored));
    }
    return static_cast<double>(observer.value);
}

}  // namespace lanewise::wavefront
