// SPDX-License-Identifier: BSD-3-Clause
//
// See finite.hpp.

#include "wavefront/run/finite.hpp"

#include <cmath>
#include <cstring>

#include <lanewise/wavefront/half.hpp>

namespace lanewise::wavefront {
namespace {

template <typename Real>
bool all_finite(const std::byte *bytes, std::uint64_t size) {
    using Sum = arithmetic_t<Real>;
    const auto *values = reinterpret_cast<const Real *>(bytes);
    // x - x is not zero where x is not finite, and the sum keeps that.
    Sum sum = 0;
    for (std::uint64_t i = 0; i < size / sizeof(Real); ++i) {
        const Sum value = values[i];
        sum += value - value;  // NOLINT(misc-redundant-expression)
    }
    return sum == Sum(0);
}

std::string name_of(const MatrixShape& shape, std::uint64_t row, std::uint64_t column) {
    const auto line = shape.line_columns ? column / shape.line_columns : 0;
    return (shape.line_columns ? "plane " : "row ") + std::to_string(row) +
           (shape.line_columns ? ", line " + std::to_string(line) : "") + ", column " +
           std::to_string(column - line * shape.line_columns);
}

template <typename Real>
std::string find(const MatrixShape& shape, const Cell& corner, const std::byte *bytes) {
    const auto elements = shape.strip_rows * shape.row_elements();
    if (all_finite<Real>(bytes, elements * element_bytes(shape.element))) return "";
    const auto parts = element_bytes(shape.element) / sizeof(Real);
    for (std::uint64_t row = 0; row < shape.rows; ++row) {
        for (std::uint64_t column = 0; column < shape.columns; ++column) {
            const auto *value =
                bytes + shape.layout->offset(shape, row, column) * element_bytes(shape.element);
            for (std::uint64_t part = 0; part < parts; ++part) {
                Real number;
                std::memcpy(&number, value + part * sizeof(Real), sizeof(Real));
                if (!std::isfinite(static_cast<arithmetic_t<Real>>(number)))
                    return name_of(shape, corner.row + row, corner.column + column);
            }
        }
    }
    return "";
}

}  // namespace

std::string cell_not_finite(const MatrixShape& shape, const Cell& corner, const std::byte *bytes) {
    if (numbers_of(shape.element) == Numbers::whole) return "";
    if (shape.element == Element::f16) return find<half>(shape, corner, bytes);
    const bool single = shape.element == Element::f32 || shape.element == Element::c64;
    return single ? find<float>(shape, corner, bytes) : find<double>(shape, corner, bytes);
}

Failure not_finite(const Store& store, std::uint32_t matrix, const std::string& cell) {
    return {LW_ERR_OPERATION, "matrix " + store.manifest().matrices[matrix].name + " of " +
                                  store.folder() + " is not finite at " + cell +
                                  "; the data before this pass are kept"};
}

}  // namespace lanewise::wavefront
