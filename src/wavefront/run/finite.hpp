// SPDX-License-Identifier: BSD-3-Clause
//
// Finite: the cell of a strip or a tile that is not a finite number.

#pragma once

#include <string>

#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

struct Cell {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
};

/* `bytes` is one strip of `shape.rows` rows, as `shape` lies, whose first cell is `corner`; empty
 * where all of it is finite, else "row 3, column 5" or "plane 3, line 1, column 5". */
std::string cell_not_finite(const MatrixShape& shape, const Cell& corner, const std::byte *bytes);

Failure not_finite(const Store& store, std::uint32_t matrix, const std::string& cell);

}  // namespace lanewise::wavefront
