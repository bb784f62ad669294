// SPDX-License-Identifier: BSD-3-Clause
//
// Layout: how the rows of a strip lie in its bytes.
//
// A layout is a record of functions. Each has a file of its own, and those that a
// store may have are listed in registry.cpp: the manifest, the command line, the C
// API and Python take their names from there.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"

namespace lanewise::wavefront {

struct MatrixShape;

struct Layout {
    const char *name;
    /* Whether each row of a row block begins `skew` vectors later than the one above it. */
    bool rows_lag = false;
    /* Elements of one strip of `shape.strip_rows` rows. */
    std::uint64_t (*strip_elements)(const MatrixShape& shape) = nullptr;
    /* From rows in row-major order, at most strip_rows of them; returns how many elements at the
     * beginning of the strip are filled. */
    std::uint64_t (*pack)(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                          std::byte *strip) = nullptr;
    void (*unpack)(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
                   std::byte *rows) = nullptr;
    /* Where element (row, column) of a strip lies, in elements; null where no kernel works on
     * strips that lie so, because each is converted first. */
    std::uint64_t (*offset)(const MatrixShape& shape, std::uint64_t row,
                            std::uint64_t column) = nullptr;
    /* What the layout asks of a shape beyond check_shape; null: nothing. */
    Outcome (*check)(const MatrixShape& shape) = nullptr;
};

/* The layouts that kernels work on, and the one in memory only, for kernels that go row by row
 * over parallelograms: row blocks of rows, each beginning `skew` columns further right than the one
 * above. */
namespace layouts {
extern const Layout row_major;
extern const Layout skewed;
extern const Layout slanted;
}  // namespace layouts

/* Every layout that a store may have; the first is the plainest. */
std::span<const Layout *const> store_layouts();
/* "row-major, skewed, block or frontier". */
std::string store_layout_names();
/* LW_ERR_ARGUMENT, with the nearest name or all of them, where there is none. */
Result<const Layout *> layout_named(const std::string& name);

/* `rows` holds `row_count` rows, at most strip_rows; the rest of the strip becomes zero. */
void pack_strip(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                std::byte *strip);
void unpack_strip(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
                  std::byte *rows);

}  // namespace lanewise::wavefront
