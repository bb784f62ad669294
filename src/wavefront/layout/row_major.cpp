// SPDX-License-Identifier: BSD-3-Clause
//
// The row-major layout: the rows of a strip one behind the other.

#include <cstring>

#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {
namespace {

std::uint64_t strip_elements(const MatrixShape& shape) {
    return shape.strip_rows * shape.columns;
}

std::uint64_t pack(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                   std::byte *strip) {
    std::memcpy(strip, rows, row_count * shape.columns * element_bytes(shape.element));
    return row_count * shape.columns;
}

void unpack(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
            std::byte *rows) {
    std::memcpy(rows, strip, row_count * shape.columns * element_bytes(shape.element));
}

std::uint64_t offset(const MatrixShape& shape, std::uint64_t row, std::uint64_t column) {
    return row * shape.columns + column;
}

}  // namespace

const Layout layouts::row_major{.name = "row-major",
                                .strip_elements = strip_elements,
                                .pack = pack,
                                .unpack = unpack,
                                .offset = offset};

}  // namespace lanewise::wavefront
