// SPDX-License-Identifier: BSD-3-Clause
//
// Edges: the border rows and columns of a pass, where they are copies of cells inside.
//
// Kernels set the border columns of each row that they have updated. Here is the rest: what
// borders are before the first iteration, strip by strip as they come from the disk, and the
// border rows, which a wave sets when it has left the rows that they are copies of. With 2 r rows
// per row block, r being the stencil radius, border rows at the beginning lie in the row block
// of their sources or the one above it, and at the end in theirs or the one below: the wave
// before has done with both, and the one behind has not come.
//
// A periodic border row is a copy of a row at the other end. The pass then has one wave and
// holds the strips at which it began until it has come to the end.

#pragma once

#include <functional>
#include <vector>

#include "wavefront/layout/borders.hpp"
#include "wavefront/layout/shape.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

class Edges {
  public:
    /* Where a row of a data matrix lies in memory. Rows are counted as waves come to them. */
    using Locate = std::function<std::byte *(std::uint64_t row, std::uint32_t matrix)>;

    Edges(const Borders& borders, const MatrixShape& shape, std::uint64_t radius, Locate locate);

    const Borders& borders() const { return borders_; }
    /* Reads the rows of `store` of which border rows are copies. */
    Outcome begin(const Store& store);
    /* A strip of a data matrix is in memory, as the store has it. */
    void set_strip(std::uint64_t strip, std::uint32_t matrix);
    /* A wave has updated the rows [first, end). */
    void after(std::uint64_t first, std::uint64_t end);

  private:
    enum class End { first, last };
    using Rows = std::vector<std::byte>;

    BorderKind kind(End end) const;
    /* The border row `n` of `radius` at an end, and the row inside that it is a copy of. */
    std::uint64_t border_row(End end, std::uint64_t n) const;
    std::uint64_t source_row(End end, std::uint64_t n) const;
    std::uint64_t row_on_disk(std::uint64_t row) const;
    Outcome read(const Store& store, std::uint32_t matrix, End end, Rows& rows) const;
    void keep_first_rows();
    void set_rows(End end);

    Borders borders_;
    MatrixShape shape_;
    std::uint64_t radius_;
    std::uint64_t row_bytes_;
    Locate locate_;
    std::vector<Rows> begin_[2]; /* of each data matrix: the border rows at first, at both ends */
    std::vector<Rows> kept_;     /* the rows beside the first border, where the last is periodic */
};

}  // namespace lanewise::wavefront
