// SPDX-License-Identifier: BSD-3-Clause
//
// The skewed layout: row blocks of eight rows, so that eight rows of a Gauss-Seidel
// sweep are updated by one instruction. Element (l, j) of a row block lies in lane l of
// vector j + l (in memory j + s l, for kernels that look further); Yuan et al.,
// arXiv 2010.04868, have it in memory, here it is on disk too.

#include <algorithm>

#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {
namespace {

// The eight rows of a row block: `count` of them exist.
template <typename Word>
void skew_row_block(const Word *rows, const MatrixShape& shape, std::uint64_t count,
                    Word *row_block) {
    for (std::uint64_t j = 0; j < shape.columns; ++j) {
        for (std::uint64_t l = 0; l < count; ++l)
            row_block[(j + shape.skew * l) * skew_lanes + l] = rows[l * shape.columns + j];
    }
}

template <typename Word>
void unskew_row_block(const Word *row_block, const MatrixShape& shape, std::uint64_t count,
                      Word *rows) {
    for (std::uint64_t j = 0; j < shape.columns; ++j) {
        for (std::uint64_t l = 0; l < count; ++l)
            rows[l * shape.columns + j] = row_block[(j + shape.skew * l) * skew_lanes + l];
    }
}

// No row fills the ramps at either end of a row block, nor the lanes of rows that are missing.
template <typename Word>
void clear_ramps(const MatrixShape& shape, std::uint64_t count, Word *row_block) {
    const auto words = skew_lanes * shape.row_elements();
    const auto ramp = std::min(skew_lanes * shape.skew * (skew_lanes - 1), words);
    const auto begin = count < skew_lanes ? words : ramp;
    std::fill(row_block, row_block + begin, Word{0});
    std::fill(row_block + words - ramp, row_block + words, Word{0});
}

// Returns the words that it fills, in whole row blocks.
template <typename Word>
std::uint64_t skew_strip(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                         std::byte *strip) {
    const auto row_block_words = skew_lanes * shape.row_elements();
    auto *row_block = reinterpret_cast<Word *>(strip);
    for (std::uint64_t row = 0; row < row_count; row += skew_lanes, row_block += row_block_words) {
        const auto count = std::min(skew_lanes, row_count - row);
        clear_ramps(shape, count, row_block);
        skew_row_block(reinterpret_cast<const Word *>(rows) + row * shape.columns, shape, count,
                       row_block);
    }
    return static_cast<std::uint64_t>(row_block - reinterpret_cast<Word *>(strip));
}

template <typename Word>
void unskew_strip(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
                  std::byte *rows) {
    const auto row_block_words = skew_lanes * shape.row_elements();
    for (std::uint64_t row = 0; row < row_count; row += skew_lanes) {
        unskew_row_block(reinterpret_cast<const Word *>(strip) + row / skew_lanes * row_block_words,
                         shape, std::min(skew_lanes, row_count - row),
                         reinterpret_cast<Word *>(rows) + row * shape.columns);
    }
}

std::uint64_t strip_elements(const MatrixShape& shape) {
    return shape.strip_rows * shape.row_elements();
}

std::uint64_t pack(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                   std::byte *strip) {
    return element_bytes(shape.element) == sizeof(std::uint32_t)
               ? skew_strip<std::uint32_t>(shape, rows, row_count, strip)
               : skew_strip<std::uint64_t>(shape, rows, row_count, strip);
}

void unpack(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
            std::byte *rows) {
    if (element_bytes(shape.element) == sizeof(std::uint32_t))
        unskew_strip<std::uint32_t>(shape, strip, row_count, rows);
    else
        unskew_strip<std::uint64_t>(shape, strip, row_count, rows);
}

std::uint64_t offset(const MatrixShape& shape, std::uint64_t row, std::uint64_t column) {
    const auto lane = row % skew_lanes;
    const auto row_block = row / skew_lanes;
    const auto vector = column + shape.skew * lane;
    return row_block * skew_lanes * shape.row_elements() + vector * skew_lanes + lane;
}

Outcome check(const MatrixShape& shape) {
    if (shape.strip_rows % skew_lanes != 0)
        return Failure{LW_ERR_ARGUMENT, "skewed strips are multiples of 8 rows, not " +
                                            std::to_string(shape.strip_rows)};
    if (shape.element != Element::f32 && shape.element != Element::f64)
        return Failure{LW_ERR_ARGUMENT, std::string("the skewed layout holds f32 or f64, not ") +
                                            element_name(shape.element) +
                                            "; use the row-major layout"};
    return Done{};
}

}  // namespace

const Layout layouts::skewed{.name = "skewed",
                             .rows_lag = true,
                             .strip_elements = strip_elements,
                             .pack = pack,
                             .unpack = unpack,
                             .offset = offset,
                             .check = check};

}  // namespace lanewise::wavefront
