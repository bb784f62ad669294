// SPDX-License-Identifier: BSD-3-Clause
//
// Borders: what the cells on the border of the data are while a sweep goes on.
//
// A border is as many rows or columns wide as the stencil radius r, and lies in the matrix.
// Fixed cells keep what they are. The others are copies of cells inside, made anew by each
// iteration: a border column as soon as the rest of its row has been updated, a border row,
// with its corners, when the iteration has updated all rows. Before the first iteration all
// of them are made.
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
    bool operator==(const Borders&) const = default;
};

bool are_fixed(const Borders& borders);
/* An iteration then begins with rows of the end of the one before. */
bool rows_are_periodic(const Borders& borders);

/* "periodic" for all sides, "left=neumann,rows=periodic" for some; the last word on a side counts,
 * and sides that are not named are fixed. */
Result<Borders> parse_borders(const std::string& text);
/* A text that parse_borders reads. */
std::string borders_text(const Borders& borders);

/* Whether a store of `stored` can have such borders under a kernel of that stencil radius. */
Outcome check_borders(const Borders& borders, const MatrixShape& stored, std::uint64_t radius);

/* Iterations after which a pass ends, where it would without such borders after each so many; 0:
 * after any number. */
std::uint64_t iterations_of_pass(const Borders& borders, std::uint64_t otherwise);
/* Strips at the beginning of a pass that border rows at its end are still set in. */
std::uint64_t held_strips(const Borders& borders, const MatrixShape& shape);
/* Bytes of memory that borders take in a pass. */
std::uint64_t edges_bytes(const Borders& borders, const MatrixShape& stored, std::uint64_t radius);

/* Sets the cells of the borders to the left and right of a row, each of so many bytes. */
inline void set_border_columns(const Borders& borders, std::byte *row, std::uint64_t columns,
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

}  // namespace lanewise::wavefront
