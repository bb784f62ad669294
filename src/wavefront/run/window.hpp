// SPDX-License-Identifier: BSD-3-Clause
//
// Tiles into and out of a window: what a parallelogram holds of a strip in skewed or slanted row
// blocks.

#pragma once

#include <cstddef>
#include <cstdint>

#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

/* Vectors [first, end) of each row block of a strip; `bytes` is where vector `first` of row block 0
 * lies; the rows of a slanted row block lie row_block_bytes / rows_per_block apart. */
struct WindowPlace {
    std::byte *bytes = nullptr;
    std::uint64_t row_block_bytes = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};

/* `rows` are those of tile `tile` in row-major order; elements outside of the window stay out. */
void put_tile(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, const std::byte *rows);
void get_tile(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, std::byte *rows);

}  // namespace lanewise::wavefront
