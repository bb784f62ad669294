// SPDX-License-Identifier: BSD-3-Clause
//
// See panel_window.hpp.

#include "wavefront/run/panel_window.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::wavefront {
namespace {

// Calls act(element of the window, element of the rows) for each that both have.
template <typename Word, typename Act>
void each(const Shape& shape, const WindowPlace& window, std::uint64_t tile,
          std::uint64_t row_count, const Act& act) {
    const auto begin = tile * shape.tile_columns;
    const auto end = std::min(begin + shape.tile_columns, shape.columns);
    for (std::uint64_t row = 0; row < row_count; ++row) {
        const auto lane = row % skew_lanes;
        const auto lag = shape.skew * lane;
        const auto from = std::max(begin, window.first > lag ? window.first - lag : 0);
        const auto until = std::min(end, window.end > lag ? window.end - lag : 0);
        auto *const band =
            reinterpret_cast<Word *>(window.bytes + row / skew_lanes * window.band_bytes);
        for (auto column = from; column < until; ++column)
            act(band[(column + lag - window.first) * skew_lanes + lane],
                row * shape.tile_columns + column - begin);
    }
}

template <typename Word>
void put(const Shape& shape, const WindowPlace& window, std::uint64_t tile, std::uint64_t row_count,
         const std::byte *rows) {
    const auto *const from = reinterpret_cast<const Word *>(rows);
    each<Word>(shape, window, tile, row_count,
               [&](Word& element, std::uint64_t at) { element = from[at]; });
}

template <typename Word>
void get(const Shape& shape, const WindowPlace& window, std::uint64_t tile, std::uint64_t row_count,
         std::byte *rows) {
    auto *const to = reinterpret_cast<Word *>(rows);
    each<Word>(shape, window, tile, row_count,
               [&](const Word& element, std::uint64_t at) { to[at] = element; });
}

}  // namespace

void put_tile(const Shape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, const std::byte *rows) {
    if (element_bytes(shape.element) == sizeof(std::uint32_t))
        put<std::uint32_t>(shape, window, tile, row_count, rows);
    else
        put<std::uint64_t>(shape, window, tile, row_count, rows);
}

void get_tile(const Shape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, std::byte *rows) {
    if (element_bytes(shape.element) == sizeof(std::uint32_t))
        get<std::uint32_t>(shape, window, tile, row_count, rows);
    else
        get<std::uint64_t>(shape, window, tile, row_count, rows);
}

}  // namespace lanewise::wavefront
