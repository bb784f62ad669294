// SPDX-License-Identifier: BSD-3-Clause
//
// Shape: what a sweep works on.
//
// A problem is a few matrices of one shape: data matrices, which the sweep
// updates, and coefficient matrices, which it only reads. Rows move in strips,
// the unit of disk transfers and checksums; inside a strip a wave advances row block
// by row block: eight rows in the skewed layout, any number of rows in others. How the
// rows of a strip lie is up to its layout.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "wavefront/layout/layout.hpp"

namespace lanewise::wavefront {

enum class Element { f32, f64, c64, c128 };

inline constexpr std::uint64_t skew_lanes = 8;
/* Offsets and lengths of direct I/O are multiples of this. */
inline constexpr std::uint64_t disk_block_bytes = 4096;

struct MatrixShape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint32_t data_count = 1;
    std::uint32_t coefficient_count = 0;
    Element element = Element::f64;
    const Layout *layout = &layouts::row_major;
    std::uint64_t strip_rows = 0;
    std::uint64_t tile_columns = 0; /* a strip is cut into tiles of so many columns; 0: it is one */
    std::uint64_t skew = 1; /* vectors by which a row of a row block lags; on disk always 1 */
    std::uint64_t rows_per_block = skew_lanes; /* of a skewed or slanted row block */

    std::uint32_t matrix_count() const { return data_count + coefficient_count; }
    std::uint64_t strip_count() const { return (rows + strip_rows - 1) / strip_rows; }
    std::uint64_t tiles_in_strip() const {
        return tile_columns ? (columns + tile_columns - 1) / tile_columns : 1;
    }
    /* What is transferred, and has a checksum, at a time: strip by strip, from left to right. */
    std::uint64_t tile_count() const { return strip_count() * tiles_in_strip(); }
    /* Elements between the starts of two rows, seen from whole row blocks. */
    std::uint64_t row_elements() const {
        return layout->rows_lag ? columns + (rows_per_block - 1) * skew : columns;
    }
};

std::uint64_t element_bytes(Element element);
const char *element_name(Element element);
Result<Element> element_named(const std::string& name);

/* One strip of one matrix on disk and in memory, padding to whole disk blocks included, where it
 * is not cut into tiles. */
std::uint64_t strip_bytes(const MatrixShape& shape);
/* One tile by itself, a strip of fewer columns; the last of a strip is as wide as the others. */
MatrixShape tile_of(const MatrixShape& shape);
std::uint64_t tile_bytes(const MatrixShape& shape);
/* The height of slanted row blocks: one that divides a strip, above eight rows as little as can be,
 * and more than a kernel's radius, so that a parallelogram has what a wave reads below. */
std::uint64_t slanted_rows_per_block(const MatrixShape& shape, std::uint64_t radius);
/* The same matrices in another layout. */
MatrixShape with_layout(MatrixShape shape, const Layout *layout, std::uint64_t skew = 1);
/* Whether strips of one lie as strips of the other. */
bool lie_alike(const MatrixShape& one, const MatrixShape& other);
/* Memory for a strip that lies on disk as in `stored` and is worked on as in `worked`. */
std::uint64_t slot_bytes(const MatrixShape& stored, const MatrixShape& worked);
/* Of the strip at `index`: fewer than strip_rows in the last one. */
std::uint64_t rows_in_strip(const MatrixShape& shape, std::uint64_t index);
/* The default height: one matrix's strip is a transfer that the disk serves at full speed. */
std::uint64_t default_strip_rows(const MatrixShape& shape);

Outcome check_shape(const MatrixShape& shape);

}  // namespace lanewise::wavefront
