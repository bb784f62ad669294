// SPDX-License-Identifier: BSD-3-Clause
//
// See layout.hpp.

#include "wavefront/store/layout.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::wavefront {
namespace {

// The eight rows of a band: `count` of them exist.
template <typename Word>
void skew_band(const Word *rows, const Shape& shape, std::uint64_t count, Word *band) {
    for (std::uint64_t j = 0; j < shape.columns; ++j) {
        for (std::uint64_t l = 0; l < count; ++l)
            band[(j + shape.skew * l) * skew_lanes + l] = rows[l * shape.columns + j];
    }
}

template <typename Word>
void unskew_band(const Word *band, const Shape& shape, std::uint64_t count, Word *rows) {
    for (std::uint64_t j = 0; j < shape.columns; ++j) {
        for (std::uint64_t l = 0; l < count; ++l)
            rows[l * shape.columns + j] = band[(j + shape.skew * l) * skew_lanes + l];
    }
}

template <typename Word>
void skew_strip(const Shape& shape, const std::byte *rows, std::uint64_t row_count,
                std::byte *strip) {
    const auto band_words = skew_lanes * shape.row_elements();
    for (std::uint64_t row = 0; row < row_count; row += skew_lanes) {
        skew_band(reinterpret_cast<const Word *>(rows) + row * shape.columns, shape,
                  std::min(skew_lanes, row_count - row),
                  reinterpret_cast<Word *>(strip) + row / skew_lanes * band_words);
    }
}

template <typename Word>
void unskew_strip(const Shape& shape, const std::byte *strip, std::uint64_t row_count,
                  std::byte *rows) {
    const auto band_words = skew_lanes * shape.row_elements();
    for (std::uint64_t row = 0; row < row_count; row += skew_lanes) {
        unskew_band(reinterpret_cast<const Word *>(strip) + row / skew_lanes * band_words, shape,
                    std::min(skew_lanes, row_count - row),
                    reinterpret_cast<Word *>(rows) + row * shape.columns);
    }
}

}  // namespace

void pack_strip(const Shape& shape, const std::byte *rows, std::uint64_t row_count,
                std::byte *strip) {
    const auto bytes = element_bytes(shape.element);
    if (shape.layout == Layout::row_major) {
        const auto used = row_count * shape.columns * bytes;
        std::memcpy(strip, rows, used);
        std::memset(strip + used, 0, strip_bytes(shape) - used);
        return;
    }
    std::memset(strip, 0, strip_bytes(shape));
    if (shape.layout != Layout::skewed) return pack_band(blocks_of(shape), rows, row_count, strip);
    if (bytes == sizeof(std::uint32_t))
        skew_strip<std::uint32_t>(shape, rows, row_count, strip);
    else
        skew_strip<std::uint64_t>(shape, rows, row_count, strip);
}

void unpack_strip(const Shape& shape, const std::byte *strip, std::uint64_t row_count,
                  std::byte *rows) {
    const auto bytes = element_bytes(shape.element);
    if (shape.layout == Layout::row_major) {
        std::memcpy(rows, strip, row_count * shape.columns * bytes);
        return;
    }
    if (shape.layout != Layout::skewed)
        return unpack_band(blocks_of(shape), strip, row_count, rows);
    if (bytes == sizeof(std::uint32_t))
        unskew_strip<std::uint32_t>(shape, strip, row_count, rows);
    else
        unskew_strip<std::uint64_t>(shape, strip, row_count, rows);
}

std::uint64_t offset_in_strip(const Shape& shape, std::uint64_t row, std::uint64_t column) {
    const auto bytes = element_bytes(shape.element);
    if (shape.layout == Layout::row_major) return (row * shape.columns + column) * bytes;
    const auto lane = row % skew_lanes;
    const auto band = row / skew_lanes;
    const auto vector = column + shape.skew * lane;
    return (band * skew_lanes * shape.row_elements() + vector * skew_lanes + lane) * bytes;
}

}  // namespace lanewise::wavefront
