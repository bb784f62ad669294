// SPDX-License-Identifier: BSD-3-Clause
//
// Rows in and out of a store, a strip at a time, whatever its layout.

#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "wavefront/store/memory.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

/* Fails once `stop`, which may be null, is true. */
Outcome go_on(const std::atomic<bool> *stop);

/* Fills `rows` with `row_count` rows that begin at `first_row`, in row-major order. */
using RowSource =
    std::function<Outcome(std::uint64_t first_row, std::uint64_t row_count, std::byte *rows)>;
/* Takes rows that come in order. */
using RowSink =
    std::function<Outcome(std::uint64_t first_row, std::uint64_t row_count, const std::byte *rows)>;

/* Tiles that are in memory at a time beside the rows of a strip (plan/moving.hpp); 0: as many as
 * keep a disk busy. */
struct Moving {
    std::uint64_t tiles_read = 0;
    std::uint64_t tiles_written = 0;
    const std::atomic<bool> *stop = nullptr; /* once true, what moves fails; may be null */
    /* Called when a strip has been given or taken, with its bytes; may be empty. */
    std::function<void(std::uint64_t bytes)> moved{};
};

/* Who follows the copy of a whole store, and ends it. */
struct Watch {
    /* Called after each strip; may be empty. */
    std::function<void(std::uint64_t done_bytes, std::uint64_t wanted_bytes)> moved{};
    const std::atomic<bool> *stop = nullptr; /* once true, it fails; may be null */
};
/* For the matrices of that store, `wanted_bytes` in all, one after the other. */
Moving moving_watched(const Watch& watch, std::uint64_t wanted_bytes);

/* Replaces a matrix: all of it, or none where anything fails. */
Outcome write_matrix(Store& store, std::uint32_t matrix, const RowSource& source,
                     const Moving& moving = {});

/* Reads a whole matrix in order; a strip whose checksum is wrong is named and ends it. */
Outcome read_matrix(const Store& store, std::uint32_t matrix, const RowSink& sink,
                    const Moving& moving = {});

/* Fills `rows`, with room for a whole strip, with strip `strip`; quickest in order. */
using StripSource = std::function<Outcome(std::uint64_t strip, std::byte *rows)>;
/* Of a matrix of `store`, which outlives it. */
Result<StripSource> strip_source(const Store& store, std::uint32_t matrix,
                                 const Moving& moving = {});

/* Rows [first, first + count) of a matrix, in row-major order. */
Outcome read_rows(const Store& store, std::uint32_t matrix, std::uint64_t first,
                  std::uint64_t count, std::byte *rows, const Moving& moving = {});

struct RowRange {
    const Store *store = nullptr;
    std::uint64_t first_row = 0;
    std::uint64_t row_count = 0;
};

/* Replaces a matrix of `to` by rows of others, one range after the other. */
Outcome copy_rows(const std::vector<RowRange>& from, std::uint32_t matrix, Store& to,
                  const Moving& moving = {});

/* Fills `to` with the matrices of `from`, which have the same rows and columns and may lie in
 * another layout or in strips of another height; with the iterations done and an unfinished run. */
Outcome copy_matrices(const Store& from, Store& to, const Moving& moving = {});

/* Reads every strip of every filled matrix; returns the names of those that are damaged. Fails once
 * `stop` is true. */
Result<std::vector<std::string>> verify(const Store& store,
                                        const std::atomic<bool> *stop = nullptr);

/* The failure of a store with so many damaged strips. */
Failure damage(std::size_t strips);

/* A value in [0, 1) that depends on seed, matrix and place alone: contents for trials. */
double demo_value(std::uint64_t seed, std::uint32_t matrix, std::uint64_t row,
                  std::uint64_t columns, std::uint64_t column);
/* Coefficients are divided by 4, so that a sweep of averages stays bounded. */
Outcome fill_with_demo_values(Store& store, std::uint64_t seed);

}  // namespace lanewise::wavefront
