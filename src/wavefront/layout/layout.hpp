// SPDX-License-Identifier: BSD-3-Clause
//
// Layout: rows as everybody writes them, to and from the bytes of a strip.

#pragma once

#include <cstddef>
#include <cstdint>

#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

/* `rows` holds `row_count` rows, at most strip_rows; the rest of the strip becomes zero. */
void pack_strip(const Shape& shape, const std::byte *rows, std::uint64_t row_count,
                std::byte *strip);
void unpack_strip(const Shape& shape, const std::byte *strip, std::uint64_t row_count,
                  std::byte *rows);

/* Where element (row, column) of a row-major or skewed strip lies, in bytes. */
std::uint64_t offset_in_strip(const Shape& shape, std::uint64_t row, std::uint64_t column);

}  // namespace lanewise::wavefront
