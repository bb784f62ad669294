// SPDX-License-Identifier: BSD-3-Clause
//
// Borders: what the cells on the border of the data are while a sweep goes on.
//
// A border is as many rows or columns wide as the stencil radius r, and lies in the matrix.
// Fixed cells keep what they are. The others are copies of cells inside, made anew by each
// iteration: a border column as soon as the rest of its row has been updated, a border row,
// with its corners, when the iteration has updated all rows. Before the first iteration all
// of them are made. In three dimensions a row is a plane, and so are the borders at the top and the
// bottom; as soon as the rest of a plane has been updated, the cells to the left and right of its
// lines are made, and then its first lines, in front, and its last ones, at the back.
//
// neumann: the border mirrors the cells beside it, the wall being between the two, so that the
// difference across the wall is zero. Cells count as the middle of small volumes then: no flow
// crosses the wall, and sums over the cells inside are kept where a kernel keeps them.
// periodic: the border is what lies inside of the opposite border.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/result.hpp"
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

enum class BorderKind { fixed, neumann, periodic };

struct Borders {
    BorderKind top = BorderKind::fixed;
    BorderKind bottom = BorderKind::fixed;
    BorderKind left = BorderKind::fixed;
    BorderKind right = BorderKind::fixed;
    BorderKind front = BorderKind::fixed; /* in three dimensions */
    BorderKind back = BorderKind::fixed;
    bool operator==(const Borders&) const = default;
};

bool are_fixed(const Borders& borders);
/* An iteration then begins with rows of the end of the one before. */
bool rows_are_periodic(const Borders& borders);

/* How many sides there are. */
enum class Dimensions { two, three };
inline Dimensions dimensions_of(const MatrixShape& shape) {
    return shape.line_columns ? Dimensions::three : Dimensions::two;
}

/* "periodic" for all sides, "left=neumann,rows=periodic" for some; the last word on a side counts,
 * and sides that are not named are fixed. */
Result<Borders> parse_borders(const std::string& text, Dimensions dimensions = Dimensions::two);
/* A text that parse_borders reads. */
std::string borders_text(const Borders& borders, Dimensions dimensions = Dimensions::two);

/* Whether a store of `stored` can have such borders under a kernel of that stencil radius. */
Outcome check_borders(const Borders& borders, const MatrixShape& stored, std::uint64_t radius);

/* Iterations after which a pass ends, where it would without such borders after each so many; 0:
 * after any number. */
std::uint64_t iterations_of_pass(const Borders& borders, std::uint64_t otherwise);
/* Strips at the beginning of a pass that border rows at its end are still set in. */
std::uint64_t held_strips(const Borders& borders, const MatrixShape& shape);
/* Bytes of memory that borders take in a pass. */
std::uint64_t edges_bytes(const Borders& borders, const MatrixShape& stored, std::uint64_t radius);

/* Sets the cells of the borders to the left and right of a line, each of so many bytes. */
inline void set_border_cells(const Borders& borders, std::byte *row, std::uint64_t columns,
                             std::uint64_t radius, std::uint64_t bytes) {
    const auto copy = [&](std::uint64_t to, std::uint64_t from) {
        std::memcpy(row + to * bytes, row + from * bytes, bytes);
    };
    for (std::uint64_t n = 0; n < radius; ++n) {
        if (borders.left == BorderKind::neumann) copy(n, 2 * radius - 1 - n);
        if (borders.left == BorderKind::periodic) copy(n, columns - 2 * radius + n);
        if (borders.right == BorderKind::neumann)
            copy(columns - radius + n, columns - radius - 1 - n);
        if (borders.right == BorderKind::periodic) copy(columns - radius + n, radius + n);
    }
}

/* Sets the borders within a plane of lines of so many columns. */
inline void set_border_lines(const Borders& borders, std::byte *plane, std::uint64_t columns,
                             std::uint64_t line_columns, std::uint64_t radius,
                             std::uint64_t bytes) {
    const auto line_bytes = line_columns * bytes;
    const auto lines = columns / line_columns;
    for (auto line = radius; line + radius < lines; ++line)
        set_border_cells(borders, plane + line * line_bytes, line_columns, radius, bytes);
    // Lines in front and at the back, whole, are as cells to the left and right.
    set_border_cells({.left = borders.front, .right = borders.back}, plane, lines, radius,
                     line_bytes);
}

/* Sets the borders within a row: its first and last columns, or of a plane, where there are lines,
 * those of each line and the first and last lines. */
inline void set_border_columns(const Borders& borders, std::byte *row, std::uint64_t columns,
                               std::uint64_t line_columns, std::uint64_t radius,
                               std::uint64_t bytes) {
    if (line_columns)
        set_border_lines(borders, row, columns, line_columns, radius, bytes);
    else
        set_border_cells(borders, row, columns, radius, bytes);
}

}  // namespace lanewise::wavefront
