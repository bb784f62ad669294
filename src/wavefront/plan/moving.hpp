// SPDX-License-Identifier: BSD-3-Clause
//
// Moving: the memory that rows take on their way into a store, out of one, or
// from one into another. The rows of a strip are in memory once, and beside them
// the tiles that are being read or written: as many as keep a disk busy, or as a
// budget leaves room for. Pure.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

/* How many tiles of `tile_bytes` are in flight at a time where memory is no concern. */
std::uint64_t tiles_under_way(std::uint64_t tile_bytes);

/* Tiles in flight for each of the stores that are read or written at the same time.
 * LW_ERR_ARGUMENT, naming the minimum, where the budget is below it. */
Result<std::vector<std::uint64_t>> plan_moving(std::span<const MatrixShape> stores,
                                               std::uint64_t memory_bytes);

}  // namespace lanewise::wavefront
