// SPDX-License-Identifier: BSD-3-Clause
//
// See window.hpp.

#include "wavefront/run/window.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::wavefront {
namespace {

struct Wide {
    std::uint64_t halves[2];
};

// Calls act(element of the window, element of the rows) for each that both have.
template <typename Word, typename Act>
void each(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
          std::uint64_t row_count, const Act& act) {
    const auto begin = tile * shape.tile_columns;
    const auto end = std::min(begin + shape.tile_columns, shape.columns);
    const auto lanes = shape.rows_per_block;
    const bool by_rows = shape.layout == &layouts::slanted;
    const auto vector_words = by_rows ? 1 : lanes;
    const auto lane_words = by_rows ? window.row_block_bytes / sizeof(Word) / lanes : 1;
    for (std::uint64_t row = 0; row < row_count; ++row) {
        const auto lane = row % lanes;
        const auto lag = shape.skew * lane;
        const auto from = std::max(begin, window.first > lag ? window.first - lag : 0);
        const auto until = std::min(end, window.end > lag ? window.end - lag : 0);
        auto *const row_block =
            reinterpret_cast<Word *>(window.bytes + row / lanes * window.row_block_bytes);
        for (auto column = from; column < until; ++column)
            act(row_block[(column + lag - window.first) * vector_words + lane * lane_words],
                row * shape.tile_columns + column - begin);
    }
}

template <typename Word>
void put(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
         std::uint64_t row_count, const std::byte *rows) {
    const auto *const from = reinterpret_cast<const Word *>(rows);
    each<Word>(shape, window, tile, row_count,
               [&](Word& element, std::uint64_t at) { element = from[at]; });
}

template <typename Word>
void get(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
         std::uint64_t row_count, std::byte *rows) {
    auto *const to = reinterpret_cast<Word *>(rows);
    each<Word>(shape, window, tile, row_count,
               [&](const Word& element, std::uint64_t at) { to[at] = element; });
}

}  // namespace

void put_tile(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, const std::byte *rows) {
    switch (element_bytes(shape.element)) {
        case sizeof(std::uint32_t):
            return put<std::uint32_t>(shape, window, tile, row_count, rows);
        case sizeof(std::uint64_t):
            return put<std::uint64_t>(shape, window, tile, row_count, rows);
        default:
            return put<Wide>(shape, window, tile, row_count, rows);
    }
}

void get_tile(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, std::byte *rows) {
    switch (element_bytes(shape.element)) {
        case sizeof(std::uint32_t):
            return get<std::uint32_t>(shape, window, tile, row_count, rows);
        case sizeof(std::uint64_t):
            return get<std::uint64_t>(shape, window, tile, row_count, rows);
        default:
            return get<Wide>(shape, window, tile, row_count, rows);
    }
}

}  // namespace lanewise::wavefront
