// SPDX-License-Identifier: BSD-3-Clause
//
// Halo rows: where a wave of a part reads its neighbours' rows and sends its own, row block by row
// block.
//
// A halo has the rows of each data matrix in turn. Of whole rows it has every column. In a
// parallelogram it has the columns that the wave works on there, each row preceded by its first
// column and its end; the neighbours' rows are then in the store as the last pass left them, so the
// first wave waits for nobody, and what a neighbour's last wave leaves is put in place before a
// strip is written.

#pragma once

#include <functional>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/layout/shape.hpp"
#include "wavefront/plan/parallelograms.hpp"
#include "wavefront/run/halo_exchange.hpp"

namespace lanewise::wavefront {

struct HaloRowsSetting {
    HaloExchange *halo_exchange = nullptr; /* none: nothing waits and nothing moves */
    MatrixShape shape;
    std::uint64_t rows_per_block = 1;
    std::uint64_t row_block_bytes = 0; /* from row block to row block in memory */
    std::uint32_t radius = 1;
    Reading reading = Reading::updated;
    Parallelogram parallelogram{};
    std::uint64_t iterations_before = 0;
};

class HaloRows {
  public:
    /* The bytes of a strip of data matrix `matrix` in memory. */
    using Locate = std::function<std::byte *(std::uint64_t strip, std::uint32_t matrix)>;

    HaloRows() = default;
    explicit HaloRows(const HaloRowsSetting& setting) : set_(setting) {}

    /* `iteration` counts from the store's beginning: that of the wave which is to work on
     * `row_block`. */
    bool ready(std::uint64_t iteration, std::uint64_t row_block) const;
    /* Whether before() is to put the lower neighbour's rows in place, in the last row blocks. */
    bool meets_lower(std::uint64_t iteration, std::uint64_t row_block) const;
    void before(std::uint64_t iteration, std::uint64_t row_block, const Locate& locate);
    void after(std::uint64_t iteration, std::uint64_t row_block, const Locate& locate);
    /* In a parallelogram: puts the neighbour's rows after `iteration`, the last one, where they
     * belong. */
    Outcome settle(Side side, std::uint64_t iteration, const Locate& locate);

  private:
    bool in_parallelograms() const { return set_.shape.tile_columns > 0; }
    HaloVersion version(std::uint64_t iteration) const {
        return {iteration, set_.parallelogram.index};
    }
    /* Of the upper neighbour's rows, as the wave of `iteration` reads them. */
    std::uint64_t read_above(std::uint64_t iteration) const {
        return set_.reading == Reading::previous ? iteration - 1 : iteration;
    }
    /* Whether rows after `iteration` come from a neighbour in this parallelogram, or are there. */
    bool is_sent(std::uint64_t iteration) const {
        return !in_parallelograms() || iteration > set_.iterations_before;
    }
    bool meets_upper(std::uint64_t iteration, std::uint64_t row_block) const;
    Columns columns_of(std::uint64_t row, std::uint64_t iteration) const;
    std::byte *cell(std::uint64_t row, std::uint64_t column, std::byte *strip) const;
    std::vector<std::byte> pack(std::uint64_t first_row, std::uint64_t iteration,
                                const Locate& locate) const;
    void unpack(std::uint64_t first_row, const std::vector<std::byte>& rows,
                const Locate& locate) const;

    HaloRowsSetting set_;
};

}  // namespace lanewise::wavefront
