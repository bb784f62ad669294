// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks: the layouts of Clauss, Gustedt and Suter (PDP 2008), section 4, in which a block is
// contiguous.
//
// In the block layout a block of the matrix lies row by row in one piece. In
// the frontier layout its frontiers are pieces of their own besides: first the
// top one, then left, interior, right and bottom, so that a block or any one of
// its frontiers is one read. Corners belong to two frontiers and are stored
// twice, which costs 4 T^2 elements a block (Table 1). Blocks at the lower and
// right edge are smaller; those too small for two frontiers each way are stored
// row by row. Pure: elements in memory, here of eight bytes.

#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

enum class BlockLayout { row_major, block, frontier };

struct BlockShape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t block_rows = 0;
    std::uint64_t block_columns = 0;
    std::uint64_t radius = 1;
    BlockLayout layout = BlockLayout::block;
    std::uint64_t element_bytes = sizeof(double);
};

Outcome check_blocks(const BlockShape& shape);

/* Elements that one block of `rows` x `columns` takes. */
std::uint64_t block_elements(const BlockShape& shape, std::uint64_t rows, std::uint64_t columns);
/* Elements that the whole matrix takes. */
std::uint64_t layout_elements(const BlockShape& shape);
/* Elements of a row of blocks, the one that begins at row `first_row`. */
std::uint64_t row_of_blocks_elements(const BlockShape& shape, std::uint64_t first_row);

/* A row of blocks, from `row_count` rows of the matrix and back; packing returns how many elements
 * of the band it fills. */
std::uint64_t pack_row_of_blocks(const BlockShape& shape, const void *rows, std::uint64_t row_count,
                                 void *band);
void unpack_row_of_blocks(const BlockShape& shape, const void *band, std::uint64_t row_count,
                          void *rows);

/* A strip of a store as one row of blocks, squares as high as the strip. */
BlockShape strip_in_blocks(const MatrixShape& shape, BlockLayout layout);

/* The layout of a store whose strips are such rows of blocks. */
template <BlockLayout layout>
constexpr Layout layout_in_blocks(const char *name) {
    return {.name = name,
            .strip_elements =
                [](const MatrixShape& shape) {
                    return row_of_blocks_elements(strip_in_blocks(shape, layout), 0);
                },
            .pack =
                [](const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                   std::byte *strip) {
                    return pack_row_of_blocks(strip_in_blocks(shape, layout), rows, row_count,
                                              strip);
                },
            .unpack =
                [](const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
                   std::byte *rows) {
                    unpack_row_of_blocks(strip_in_blocks(shape, layout), strip, row_count, rows);
                }};
}

}  // namespace lanewise::wavefront
