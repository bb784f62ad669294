// SPDX-License-Identifier: BSD-3-Clause
//
// See blocks.hpp.

#include "wavefront/layout/blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace lanewise::wavefront {
namespace {

// A rectangle of a block, which lies row by row in one piece.
struct Rectangle {
    std::uint64_t first_row;
    std::uint64_t first_column;
    std::uint64_t rows;
    std::uint64_t columns;
};

struct Rectangles {
    Rectangle all[5];
    std::uint64_t count;
};

Rectangles rectangles_of(const BlockShape& shape, std::uint64_t rows, std::uint64_t columns) {
    const auto t = shape.radius;
    if (shape.layout != BlockLayout::frontier || rows < 2 * t || columns < 2 * t)
        return {{{0, 0, rows, columns}, {}, {}, {}, {}}, 1};
    return {{{0, 0, t, columns},
             {0, 0, rows, t},
             {t, t, rows - 2 * t, columns - 2 * t},
             {0, columns - t, rows, t},
             {rows - t, 0, t, columns}},
            5};
}

// Calls `move(position in the rows, position in the band, elements)` for each run of elements;
// returns the elements of the band.
template <typename Move>
std::uint64_t each_run(const BlockShape& shape, std::uint64_t row_count, const Move& move) {
    std::uint64_t at = 0;
    for (std::uint64_t first = 0; first < shape.columns; first += shape.block_columns) {
        const auto columns = std::min(shape.block_columns, shape.columns - first);
        const auto rectangles = rectangles_of(shape, row_count, columns);
        for (std::uint64_t p = 0; p < rectangles.count; ++p) {
            const auto& part = rectangles.all[p];
            for (std::uint64_t row = 0; row < part.rows; ++row) {
                move((part.first_row + row) * shape.columns + first + part.first_column, at,
                     part.columns);
                at += part.columns;
            }
        }
    }
    return at;
}

// Columns of a frontier are elements one by one: worth a path of their own.
void copy(const std::byte *from, std::byte *to, std::uint64_t bytes) {
    if (bytes == sizeof(double))
        std::memcpy(to, from, sizeof(double));
    else
        std::memcpy(to, from, bytes);
}

}  // namespace

Outcome check_blocks(const BlockShape& shape) {
    const bool sound = shape.rows > 0 && shape.columns > 0 && shape.block_rows > 0 &&
                       shape.block_columns > 0 && shape.radius > 0;
    if (sound) return Done{};
    return Failure{LW_ERR_ARGUMENT, "blocks of " + std::to_string(shape.block_rows) + " x " +
                                        std::to_string(shape.block_columns) + " in a matrix of " +
                                        std::to_string(shape.rows) + " x " +
                                        std::to_string(shape.columns) +
                                        " cannot be; all sides are 1 or more"};
}

std::uint64_t block_elements(const BlockShape& shape, std::uint64_t rows, std::uint64_t columns) {
    const auto rectangles = rectangles_of(shape, rows, columns);
    std::uint64_t elements = 0;
    for (std::uint64_t p = 0; p < rectangles.count; ++p)
        elements += rectangles.all[p].rows * rectangles.all[p].columns;
    return elements;
}

std::uint64_t row_of_blocks_elements(const BlockShape& shape, std::uint64_t first_row) {
    const auto rows = std::min(shape.block_rows, shape.rows - first_row);
    const auto whole = shape.columns / shape.block_columns;
    const auto rest = shape.columns % shape.block_columns;
    return whole * block_elements(shape, rows, shape.block_columns) +
           (rest > 0 ? block_elements(shape, rows, rest) : 0);
}

std::uint64_t layout_elements(const BlockShape& shape) {
    std::uint64_t elements = 0;
    for (std::uint64_t row = 0; row < shape.rows; row += shape.block_rows)
        elements += row_of_blocks_elements(shape, row);
    return elements;
}

std::uint64_t pack_row_of_blocks(const BlockShape& shape, const void *rows, std::uint64_t row_count,
                                 void *band) {
    const auto *from = static_cast<const std::byte *>(rows);
    auto *to = static_cast<std::byte *>(band);
    const auto size = shape.element_bytes;
    if (shape.layout == BlockLayout::row_major) {
        copy(from, to, row_count * shape.columns * size);
        return row_count * shape.columns;
    }
    const auto move = [&](std::uint64_t row_at, std::uint64_t band_at, std::uint64_t n) {
        copy(from + row_at * size, to + band_at * size, n * size);
    };
    return each_run(shape, row_count, move);
}

void unpack_row_of_blocks(const BlockShape& shape, const void *band, std::uint64_t row_count,
                          void *rows) {
    const auto *from = static_cast<const std::byte *>(band);
    auto *to = static_cast<std::byte *>(rows);
    const auto size = shape.element_bytes;
    if (shape.layout == BlockLayout::row_major)
        return copy(from, to, row_count * shape.columns * size);
    each_run(shape, row_count, [&](std::uint64_t row_at, std::uint64_t band_at, std::uint64_t n) {
        copy(from + band_at * size, to + row_at * size, n * size);
    });
}

BlockShape strip_in_blocks(const MatrixShape& shape, BlockLayout layout) {
    return {.rows = shape.strip_rows,
            .columns = shape.columns,
            .block_rows = shape.strip_rows,
            .block_columns = std::min(shape.strip_rows, shape.columns),
            .layout = layout,
            .element_bytes = element_bytes(shape.element)};
}

}  // namespace lanewise::wavefront
