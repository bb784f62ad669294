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
#include <vector>

#include "base/result.hpp"
#include "wavefront/layout/direction.hpp"
#include "wavefront/layout/layout.hpp"

namespace lanewise::wavefront {

enum class Element { f32, f64, c64, c128, i32, i64, f16 };

enum class Numbers { real, complex, whole };

inline constexpr std::uint64_t skew_lanes = 8;
/* Offsets and lengths of direct I/O are multiples of this. */
inline constexpr std::uint64_t disk_block_bytes = 4096;
/* And addresses in memory, on most file systems, of this. */
inline constexpr std::uint64_t stagger_bytes = 512;
/* Transfers under way that keep a disk busy: eight of a mebibyte, as measured with fio. With more
 * of them it is slower: their memory is no longer in the caches of processors (8 MiB 3.0 GB/s,
 * 16 MiB 2.7, 32 MiB 2.0). */
inline constexpr std::uint64_t bytes_that_fill_disk = 8 << 20;

struct MatrixShape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint32_t data_count = 1;
    std::uint32_t coefficient_count = 0;
    Element element = Element::f64;
    const Layout *layout = &layouts::row_major;
    std::uint64_t strip_rows = 0;
    std::uint64_t tile_columns = 0; /* columns per tile of a strip; 0: strips are whole */
    /* In three dimensions a row is a plane, line behind line, of so many columns each; 0: there are
     * two. */
    std::uint64_t line_columns = 0;
    /* Coefficients that are one value for each row, or for each column, and no matrices. */
    std::uint32_t row_coefficient_count = 0;
    std::uint32_t column_coefficient_count = 0;
    std::uint64_t skew =
        1; /* vectors by which a row lags behind the one above it; on disk always 1 */
    std::uint64_t rows_per_block = skew_lanes; /* of a skewed or slanted row block */
    /* In memory only: up where the last row lies first, left where the last column does. Strips and
     * tiles are whole then, so that padding comes before the first of them. */
    Direction facing{};
    std::uint64_t rows_before = 0;
    std::uint64_t columns_before = 0;

    std::uint32_t matrix_count() const { return data_count + coefficient_count; }
    std::uint32_t vector_count() const { return row_coefficient_count + column_coefficient_count; }
    /* Vectors are numbered behind the matrices, those of one value for each row first. */
    std::uint32_t number_count() const { return matrix_count() + vector_count(); }
    bool is_vector(std::uint32_t number) const { return number >= matrix_count(); }
    /* Rows and columns, or planes, lines and columns. */
    std::vector<std::uint64_t> sides() const {
        if (line_columns == 0) return {rows, columns};
        return {rows, columns / line_columns, line_columns};
    }
    std::uint64_t strip_count() const { return (rows + strip_rows - 1) / strip_rows; }
    std::uint64_t tiles_in_strip() const {
        return tile_columns ? (columns + tile_columns - 1) / tile_columns : 1;
    }
    /* Tiles are transferred and have checksums one by one: strip by strip, from left to right. */
    std::uint64_t tile_count() const { return strip_count() * tiles_in_strip(); }
    /* Elements per row in memory, ramps of lagging rows included. */
    std::uint64_t row_elements() const {
        return layout->rows_lag ? columns + (rows_per_block - 1) * skew : columns;
    }
};

std::uint64_t element_bytes(Element element);
const char *element_name(Element element);
Numbers numbers_of(Element element);
Result<Element> element_named(const std::string& name);
/* The names that element_named knows. */
std::vector<std::string> element_names();

/* Bytes of one uncut strip of one matrix, padded to whole disk blocks. */
std::uint64_t strip_bytes(const MatrixShape& shape);
/* One tile as a shape of its own: a strip of fewer columns. The last tile is as wide as the rest.
 */
MatrixShape tile_of(const MatrixShape& shape);
std::uint64_t tile_bytes(const MatrixShape& shape);
/* The height of slanted row blocks: the least that divides a strip, is eight rows or more, and
 * exceeds the kernel's stencil radius, so that a parallelogram has what a wave reads below. */
std::uint64_t slanted_rows_per_block(const MatrixShape& shape, std::uint64_t radius);
/* Matrix `number` by itself; a vector is a matrix of one column, or of one row. */
MatrixShape shape_of(const MatrixShape& shape, std::uint32_t number);
std::uint64_t vectors_bytes(const MatrixShape& shape);
/* The same matrices in another layout. */
MatrixShape with_layout(MatrixShape shape, const Layout *layout, std::uint64_t skew = 1);
/* `stored` as it lies in memory for a sweep in direction `facing`. */
MatrixShape with_facing(MatrixShape stored, const Direction& facing);
/* Whether uncut strips of both have the same bytes: rows that are gone over from the last to the
 * first stay where they are. */
bool lie_alike(const MatrixShape& one, const MatrixShape& other);
/* staggered: each strip begins at another place of its page. whole_blocks: all begin with one, as
 * some file systems ask for direct transfers. */
enum class Placement { staggered, whole_blocks };

/* Where the strips of all matrices lie in memory, buffer by buffer. The row blocks that a sweep
 * works on at a time would all begin at the same place of a page, where the first cache of a
 * processor has room for eight lines: staggered, they are swept up to twice as fast. */
struct Slots {
    std::uint64_t matrix_bytes = 0; /* from a strip to that of the next matrix */
    std::uint64_t buffer_bytes = 0; /* for a strip of every matrix */

    std::uint64_t offset(std::uint64_t buffer, std::uint32_t matrix) const {
        return buffer * buffer_bytes + matrix * matrix_bytes;
    }
};
/* Of strips that lie on disk as `stored` and are worked on as `worked`. */
Slots slots_of(const MatrixShape& stored, const MatrixShape& worked, Placement placement);
/* Rows of the strip at `index`; the last one may have fewer than strip_rows. */
std::uint64_t rows_in_strip(const MatrixShape& shape, std::uint64_t index);
/* The default height: one matrix's strip is a transfer that the disk serves at full speed. */
std::uint64_t default_strip_rows(const MatrixShape& shape);

Outcome check_shape(const MatrixShape& shape);

}  // namespace lanewise::wavefront
