// SPDX-License-Identifier: BSD-3-Clause
//
// Parallelograms: a pass over matrices whose rows are too long to be held in memory.
//
// Wave k works in parallelogram p on row block b over vectors [p B - d (b + k), (p + 1)
// B - d (b + k)), d being how much further left each round works than the one before.
// What a cell reads to the right then lies in the same parallelogram, and what it reads
// to the left is in place, as each wave left it: the data between two parallelograms
// are of mixed iterations, and are carried over on the disk. A parallelogram reads a
// window of tiles of each strip. Each byte is read about once per pass: 1 + (K + 2) d /
// B times.
//
// A kernel that reads the previous iteration has its data twice: what a wave overwrites
// left of a parallelogram's edge is still read right of it, so waves write the two
// copies alternately, and both are carried over. (These are the parallelograms of cache
// tiling, over the whole height; Leiserson, Rao and Toledo, 1997, bound what they
// save.) Pure: no clock, no file.

#pragma once

#include <cstdint>

#include "wavefront/plan/request.hpp"

namespace lanewise::wavefront {

/* Vectors [first, end) of wave 0 on row block 0; each row block and each wave further begins and
 * ends columns_a_round() earlier. What lies left of it is done on all row blocks, by all waves. */
struct Parallelogram {
    std::uint64_t index = 0;
    std::int64_t first = 0;
    std::int64_t end = std::int64_t{1} << 60;
};

/* By how many vectors row `row` is worked on further left than row block 0. */
std::uint64_t slant_of_row(const MatrixShape& shape, std::uint32_t radius, std::uint64_t row);

/* Vectors [first, end) of every row block of a strip, and the tiles they come from and go to. */
struct Window {
    std::uint64_t first = 0; /* at the beginning of a tile */
    std::uint64_t end = 0;
    std::uint64_t known_end =
        0; /* vectors before it are carried over from the parallelogram before */
    std::uint64_t data_tiles[2] = {}; /* [first, end) of the tiles to read */
    std::uint64_t coefficient_tiles[2] = {};
    std::uint64_t done_tiles[2] = {}; /* that no wave touches after this parallelogram */
    std::uint64_t carried_first = 0;  /* vectors [carried_first, end) are carried over */

    std::uint64_t vectors() const { return end > first ? end - first : 0; }
    std::uint64_t carried_in() const { return known_end > first ? known_end - first : 0; }
    std::uint64_t carried_out() const { return end > carried_first ? end - carried_first : 0; }
};

class ParallelogramGeometry {
  public:
    /* `shape` as the kernel works on it; `parallelogram_vectors` is B. */
    ParallelogramGeometry(const MatrixShape& shape, std::uint32_t radius, std::uint64_t waves,
                          std::uint64_t parallelogram_vectors,
                          const ParallelogramPlace& place = {});

    std::uint64_t parallelograms() const { return parallelograms_; }
    Parallelogram parallelogram(std::uint64_t index) const {
        return {.index = index, .first = first_of(index), .end = first_of(index + 1)};
    }
    Window window(std::uint64_t strip, std::uint64_t parallelogram) const;

    /* Upper bounds over all windows. */
    std::uint64_t window_vectors_max() const;
    std::uint64_t carried_vectors_max() const;
    std::uint64_t tiles_max() const;

    /* Of one strip of one matrix: all row blocks, so many vectors each. */
    std::uint64_t row_block_bytes(std::uint64_t vectors) const;
    std::uint64_t strip_window_bytes(std::uint64_t vectors) const;
    std::uint64_t row_blocks_in_strip() const { return shape_.strip_rows / shape_.rows_per_block; }
    /* Vectors of a skewed row block lie in one piece, those of a slanted one row by row. */
    std::uint64_t pieces_in_strip() const {
        return shape_.layout == &layouts::slanted ? shape_.strip_rows : row_blocks_in_strip();
    }
    std::uint64_t piece_bytes(std::uint64_t vectors) const {
        return strip_window_bytes(vectors) / pieces_in_strip();
    }

  private:
    std::int64_t first_of(std::uint64_t parallelogram) const {
        return static_cast<std::int64_t>(parallelogram * width_) -
               static_cast<std::int64_t>(place_.offset);
    }
    std::uint64_t lag() const { return (shape_.rows_per_block - 1) * shape_.skew; }
    std::uint64_t first_needed(std::uint64_t strip, std::uint64_t parallelogram) const;
    std::uint64_t end_needed(std::uint64_t strip, std::uint64_t parallelogram) const;

    MatrixShape shape_;
    std::uint64_t step_;
    std::uint64_t waves_;
    std::uint64_t width_;
    std::uint64_t row_blocks_;
    ParallelogramPlace place_;
    std::uint64_t parallelograms_;
};

/* Where the parts of a parallelogram pass lie in one region of memory. */
struct ParallelogramMemory {
    std::uint64_t slot_bytes = 0;  /* of one strip of one matrix, staggered */
    std::uint64_t load_bytes = 0;  /* tiles and carried vectors on their way in; twice */
    std::uint64_t store_bytes = 0; /* and on their way out */
    std::uint64_t slots = 0;       /* of each strip: matrices and second copies */
    std::uint64_t bytes(std::uint64_t buffers) const {
        return slots_bytes(buffers) + 2 * load_bytes + store_bytes;
    }
    /* What follows is read and written directly, in whole blocks. */
    std::uint64_t slots_bytes(std::uint64_t buffers) const;
};
/* Of one strip of one matrix on disk, in whole disk blocks. */
std::uint64_t carried_bytes(const ParallelogramGeometry& geometry, std::uint64_t vectors);
ParallelogramMemory parallelogram_memory(const MatrixShape& shape, const Layout *disk_layout,
                                         std::uint32_t second_copies,
                                         const ParallelogramGeometry& geometry);

/* The plan of a store in tiles. */
Result<Plan> make_parallelogram_plan(const Request& request);

}  // namespace lanewise::wavefront
