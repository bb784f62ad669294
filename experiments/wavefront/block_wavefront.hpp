// SPDX-License-Identifier: BSD-3-Clause
//
// Block wavefront: the algorithm of the paper (out-of-core wavefront 2008), to be measured against.
//
// Thread p owns the rows of blocks p, p + P, ... A block is read with the left frontier of the
// block to its right and the top frontier of the block below, both as the iteration before left
// them; its upper frontier comes from the owner above as soon as that has computed it, its left one
// from the block just computed. Blocks are written back, so every iteration moves all bytes. Waves
// are chained: a thread begins the next iteration when its neighbours allow it. Each row of blocks
// has one counter of finished blocks. The sweep is Livermore 23.

#pragma once

#include <string>

#include "base/result.hpp"
#include "wavefront/layout/blocks.hpp"

namespace lanewise::wavefront {

enum class Chaining { chained, flushed };

struct BlockRun {
    std::string folder; /* with data.blocks, zb.blocks, ... in the layouts below */
    BlockShape data;    /* coefficients lie in block layout, or row-major where the data do */
    std::uint64_t iterations = 1;
    std::uint32_t threads = 1;
    /* flushed: an iteration begins when the one before has ended everywhere. */
    Chaining chaining = Chaining::chained;
};

struct BlockReport {
    double elapsed_s = 0.0;
    std::uint64_t transfers = 0; /* reads and writes */
};

inline constexpr const char *livermore_names[] = {"data", "zb", "zv", "zu", "zr", "zz"};

/* The path of a matrix, and the layout it lies in. */
std::string block_path(const BlockRun& run, std::uint32_t matrix);
BlockShape block_shape(const BlockRun& run, std::uint32_t matrix);

/* Writes and reads a whole matrix, `rows` being row-major. */
Outcome write_blocks(const BlockRun& run, std::uint32_t matrix, const double *rows);
Outcome read_blocks(const BlockRun& run, std::uint32_t matrix, double *rows);

Result<BlockReport> run_blocks(const BlockRun& run);

}  // namespace lanewise::wavefront
