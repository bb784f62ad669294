// SPDX-License-Identifier: BSD-3-Clause
//
// Rows: a row block that is updated row by row and cell by cell.
//
// In place, a cell waits for the one before it in its row. Four rows therefore go at once, each a
// few columns behind the one above: what a cell reads of other rows is as it would be if they went
// one after the other, and while one row waits the processor works on the others.
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

/* The cells of a row, as a kernel reaches them. */
template <Way way, typename Stored, typename Cell>
struct RowCells {
    using Real = arithmetic_t<Stored>;
    static constexpr std::uint64_t height = 2 * std::uint64_t{Cell::radius} + 1;
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

    LW_WAVEFRONT_INLINED void update(const Cell& cell, std::uint64_t column, auto& observer) const {
        const Real before = rows[Cell::radius][column];
        const Stored after = cell(Data{rows, column}, Coefficients{coefficients, column});
        out[column] = after;
        observer.see(before, static_cast<Real>(after));
    }

    Stored *out = nullptr;
    const Stored *rows[height] = {};
    const Stored *coefficients[Cell::coefficients] = {};
};

template <Way way, typename Stored, typename Cell, typename Observer>
void update_row(const Cell& cell, const RowCells<way, Stored, Cell>& row, Columns columns,
                Observer& observer) {
    if constexpr (Cell::reads == Reads::previous) {
        // What is read was kept apart from what is written: the compiler may take several cells.
#ifndef __clang__
#pragma GCC ivdep
#endif
        for (std::uint64_t j = columns.first; j < columns.end; ++j) row.update(cell, j, observer);
    } else if constexpr (way == Way::leftwards) {
        for (std::uint64_t j = columns.end; j-- > columns.first;) row.update(cell, j, observer);
    } else {
        for (std::uint64_t j = columns.first; j < columns.end; ++j) row.update(cell, j, observer);
    }
}

/* Rows that go at once. */
inline constexpr std::uint64_t rows_at_once = 4;

/* Updates so many rows that follow each other. A row is `lag` columns behind the one above: that
 * one is new as far as a cell reads it, and has itself read what lies below as it was. */
template <Way way, typename Stored, typename Cell, typename Observer>
void update_rows_at_once(const Cell& cell, const RowCells<way, Stored, Cell> (&rows)[rows_at_once],
                         Columns columns, Observer& observer) {
    constexpr std::uint64_t lag = Cell::radius + 1;
    constexpr std::uint64_t ramp = lag * (rows_at_once - 1);
    const auto count = columns.end - columns.first;
    const auto update = [&](std::uint64_t row, std::uint64_t n) {
        const auto column = way == Way::leftwards ? columns.end - 1 - n : columns.first + n;
        rows[row].update(cell, column, observer);
    };
    const auto some = [&](std::uint64_t n) {
        for (std::uint64_t row = 0; row < rows_at_once; ++row) {
            if (n >= row * lag && n - row * lag < count) update(row, n - row * lag);
        }
    };
    std::uint64_t n = 0;
    for (; n < ramp; ++n) some(n);
    for (; n < count; ++n) {
#pragma GCC unroll 4
        for (std::uint64_t row = 0; row < rows_at_once; ++row) update(row, n - row * lag);
    }
    for (; n < count + ramp; ++n) some(n);
}

/* A cell with one data matrix, over the rows of a row block. */
template <Way way, typename Stored, typename Cell, typename Observer>
class RowSweep {
  public:
    RowSweep(const Cell& cell, const Step& step, const RowBlock& row_block)
        : cell_(cell), step_(step), row_block_(row_block) {}

    double all() {
        const auto end = row_block_.first_row + row_block_.row_count;
        for (auto row = row_block_.first_row; row < end;) row += some(row, end);
        return static_cast<double>(observer_.value);
    }

  private:
    using Cells = RowCells<way, Stored, Cell>;
    static constexpr std::uint64_t radius = Cell::radius;

    /* Updates the row, or those that go at once from it on; returns how many. */
    std::uint64_t some(std::uint64_t row, std::uint64_t end) {
        if constexpr (Cell::reads == Reads::updated) {
            if (end - row >= rows_at_once && go_at_once(row)) {
                const Cells rows[rows_at_once] = {cells(row), cells(row + 1), cells(row + 2),
                                                  cells(row + 3)};
                update_rows_at_once(cell_, rows, columns(row), observer_);
                return rows_at_once;
            }
        }
        keep(row);
        const auto of_row = columns(row);
        if (!is_interior(row_block_, row, radius) || of_row.first >= of_row.end) return 1;
        update_row(cell_, cells(row), of_row, observer_);
        set_border_columns(step_, row_block_, row, 0, radius, sizeof(Stored));
        return 1;
    }

    Columns columns(std::uint64_t row) const {
        return columns_of_row(step_, row_block_, row, radius);
    }
    // Rows of slanted row blocks work on other columns than those above, and borders are set when a
    // row is done.
    bool go_at_once(std::uint64_t row) const {
        constexpr std::uint64_t worthwhile = 4 * (radius + 1) * rows_at_once;
        const auto of_row = columns(row);
        return row_block_.slant == 0 && !step_.borders && is_interior(row_block_, row, radius) &&
               is_interior(row_block_, row + rows_at_once - 1, radius) &&
               of_row.end >= of_row.first + worthwhile;
    }

    Stored *at(std::uint32_t matrix, std::uint64_t row) const {
        return reinterpret_cast<Stored *>(row_at(row_block_, matrix, row));
    }
    bool keeping() const { return Cell::reads == Reads::previous && overwrites(row_block_); }
    std::uint64_t row_bytes() const { return row_block_.columns * sizeof(Stored); }
    std::byte *kept(std::uint64_t row) const {
        return kept_row(row_block_, 0, row, row_bytes(), Cells::height);
    }
    void keep(std::uint64_t row) const {
        if (keeping()) std::memcpy(kept(row), at(row_block_.writes, row), row_bytes());
    }
    Cells cells(std::uint64_t row) const {
        Cells found;
        found.out = at(row_block_.writes, row);
        for (std::uint64_t i = 0; i < Cells::height; ++i) {
            const auto down = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(radius);
            const auto other = row_below(row_block_, row, down);
            found.rows[i] = keeping() && other <= row
                                ? reinterpret_cast<const Stored *>(kept(other))
                                : at(row_block_.reads, other);
        }
        for (unsigned m = 0; m < Cell::coefficients; ++m) found.coefficients[m] = at(1 + m, row);
        return found;
    }

    const Cell& cell_;
    const Step& step_;
    const RowBlock& row_block_;
    Observer observer_;
};

/* RowBlockFunction of a cell with one data matrix. */
template <typename Stored, typename Cell, typename Observer>
double update_rows(const void *parameters, const Step& step, const RowBlock& row_block) {
    const Cell& cell = *static_cast<const Cell *>(parameters);
    if (row_block.mirrored)
        return RowSweep<Way::mirrored, Stored, Cell, Observer>(cell, step, row_block).all();
    if (row_block.leftwards)
        return RowSweep<Way::leftwards, Stored, Cell, Observer>(cell, step, row_block).all();
    return RowSweep<Way::rightwards, Stored, Cell, Observer>(cell, step, row_block).all();
}

}  // namespace lanewise::wavefront
