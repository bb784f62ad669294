// SPDX-License-Identifier: BSD-3-Clause
//
// Shape: what a sweep works on.
//
// A problem is a few matrices of one shape: data matrices, which the sweep
// updates, and coefficient matrices, which it only reads. Rows move in strips,
// the unit of disk transfers and checksums; inside a strip a wave advances band
// by band: eight rows in the skewed layout, any number of rows in others. How the
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

struct Shape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint32_t data_count = 1;
    std::uint32_t coefficient_count = 0;
    Element element = Element::f64;
    const Layout *layout = &layouts::row_major;
    std::uint64_t strip_rows = 0;
    std::uint64_t tile_columns = 0; /* a strip is cut into tiles of so many columns; 0: it is one */
    std::uint64_t skew = 1;         /* vectors by which a row of a band lags; on disk always 1 */
    std::uint64_t band_rows = skew_lanes; /* of a skewed or slanted band */

    std::uint32_t matrix_count() const { return data_count + coefficient_count; }
    std::uint64_t strip_count() const { return (rows + strip_rows - 1) / strip_rows; }
    std::uint64_t tiles_in_strip() const {
        return tile_columns ? (columns + tile_columns - 1) / tile_columns : 1;
    }
    /* What is transferred, and has a checksum, at a time: strip by strip, from left to right. */
    std::uint64_t tile_count() const { return strip_count() * tiles_in_strip(); }
    /* Elements between the starts of two rows, seen from whole bands. */
    std::uint64_t row_elements() const {
        return layout->rows_lag ? columns + (band_rows - 1) * skew : columns;
    }
};

std::uint64_t element_bytes(Element element);
const char *element_name(Element element);
Result<Element> element_named(const std::string& name);

/* One strip of one matrix on disk and in memory, padding to whole disk blocks included, where it
 * is not cut into tiles. */
std::uint64_t strip_bytes(const Shape& shape);
/* One tile by itself, a strip of fewer columns; the last of a strip is as wide as the others. */
Shape tile_of(const Shape& shape);
std::uint64_t tile_bytes(const Shape& shape);
/* The height of slanted bands: one that divides a strip, above eight rows as little as can be, and
 * more than a kernel's thickness, so that a panel has what a wave reads below. */
std::uint64_t slanted_band_rows(const Shape& shape, std::uint64_t thickness);
/* The same matrices in another layout. */
Shape with_layout(Shape shape, const Layout *layout, std::uint64_t skew = 1);
/* Whether strips of one lie as strips of the other. */
bool lie_alike(const Shape& one, const Shape& other);
/* Memory for a strip that lies on disk as in `stored` and is worked on as in `worked`. */
std::uint64_t slot_bytes(const Shape& stored, const Shape& worked);
/* Of the strip at `index`: fewer than strip_rows in the last one. */
std::uint64_t rows_in_strip(const Shape& shape, std::uint64_t index);
/* The default height: one matrix's strip is a transfer that the disk serves at full speed. */
std::uint64_t default_strip_rows(const Shape& shape);

Outcome check_shape(const Shape& shape);

}  // namespace lanewise::wavefront
