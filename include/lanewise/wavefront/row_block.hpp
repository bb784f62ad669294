// SPDX-License-Identifier: BSD-3-Clause
//
// Row block: the rows that one wave updates in one step, and those it looks at.
//
// Matrices are numbered data first, then coefficients. The row blocks above and
// below are there whole; at the first and last row block of a matrix their pointers
// repeat those of the row block itself and no cell in the interior reads them.
// Only built-in types: this header is compiled once for each instruction set.

#pragma once

#include <cstddef>
#include <cstdint>

// A loop over vectors becomes one function where the compiler optimises. Elsewhere nothing is
// inlined by force: under the sanitizers, the checks in each copy take ten times as long to
// compile.
#ifdef __OPTIMIZE__
#define LW_WAVEFRONT_INLINED [[gnu::always_inline]]
#define LW_WAVEFRONT_FLATTENED [[gnu::flatten, gnu::noinline]]
#else
#define LW_WAVEFRONT_INLINED
#define LW_WAVEFRONT_FLATTENED
#endif

namespace lanewise::wavefront {

struct Borders;
struct Stop;

struct RowBlock {
    std::uint64_t rows = 0;    /* of the whole matrix */
    std::uint64_t columns = 0; /* of the whole matrix */
    std::uint64_t first_row = 0;
    std::uint64_t row_count = 0; /* at most rows_per_block: fewer in the last row block */
    std::uint64_t rows_per_block = 0;
    std::uint32_t data_count = 1;
    std::uint32_t coefficient_count = 0;
    std::byte *const *above = nullptr; /* for each matrix */
    std::byte *const *here = nullptr;
    std::byte *const *below = nullptr;
    std::byte *scratch =
        nullptr;                /* of this wave: what a kernel keeps from row block to row block */
    std::int64_t row_bytes = 0; /* from row to row, in row blocks that are not skewed */
    std::uint64_t slant = 0;    /* columns by which each row works further left than that above */
    /* Where data matrix 0 is read and written: another place for it is among the matrices where the
     * iteration before is kept whole. */
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
    /* Rows or columns lie from the last to the first, behind so many of padding; `leftwards`:
     * columns lie in order, but cells are updated from the last to the first; `backwards`: so are
     * the lines of a row that is a plane. */
    bool up = false;
    bool mirrored = false;
    bool leftwards = false;
    bool backwards = false;
    std::uint64_t rows_before = 0;
    std::uint64_t columns_before = 0;
    std::uint64_t iteration = 0; /* of the run, from 0 */
};

/* What a kernel does at once: waves that follow each other, the first in front, each on its row
 * block, over vectors [first, end), from left to right: of the skewed layout, or else of
 * rows, where row l of a row block has column j in vector j + slant l. */
struct Step {
    const RowBlock *row_blocks = nullptr;
    std::uint32_t count = 1;
    std::uint64_t first = 0;
    std::uint64_t end = ~std::uint64_t{0};
    double *changes = nullptr; /* for each row block, raised to its largest |change|; may be null */
    /* Of which each row sets its own once it is updated; null: it sets none. */
    const Borders *borders = nullptr;
    const Stop *stop = nullptr; /* asked between rows that take long; null: nobody will */
};

/* Updates a step. */
using StepFunction = void (*)(const void *cell, const Step& step);

/* The number in the matrix of the row that lies at `row`. */
inline std::uint64_t row_of_matrix(const RowBlock& row_block, std::uint64_t row) {
    return row_block.up ? row_block.rows - 1 - row : row;
}

/* What a step takes of the interior of one row. */
struct Columns {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};
inline Columns columns_of_row(const Step& step, const RowBlock& row_block, std::uint64_t row,
                              std::uint64_t radius) {
    const auto lag = row_block.slant * (row - row_block.first_row);
    const auto last = row_block.columns > radius ? row_block.columns - radius : 0;
    const auto first = step.first > lag ? step.first - lag : 0;
    const auto end = step.end > lag ? step.end - lag : 0;
    const auto least = row_block.columns_before + radius;
    return {first > least ? first : least, end < last ? end : last};
}

/* Updates a row block; returns the largest |change| of a cell where it measures, else 0. */
using RowBlockFunction = double (*)(const void *cell, const Step& step, const RowBlock& row_block);

/* The largest change so far: a change that is not a number counts as infinite, so that a sweep
 * that lost its numbers never passes for one that came to rest. A cell that stays at infinity has
 * not changed. */
template <typename Real>
struct LargestChange {
    Real value = 0;
    void see(Real before, Real after) {
        const Real change = after > before ? after - before : before - after;
        // Only what is no number differs from itself. NOLINTNEXTLINE(misc-redundant-expression)
        const Real number = change == change ? change : static_cast<Real>(__builtin_inf());
        const Real sound = before == after ? Real(0) : number;
        if (sound > value) value = sound;
    }
};

/* The difference of whole numbers is exact, however far apart they are. */
template <typename Whole, typename Distance>
struct LargestDistance {
    Distance value = 0;
    void see(Whole before, Whole after) {
        const auto from = static_cast<Distance>(before);
        const auto to = static_cast<Distance>(after);
        const Distance change = after > before ? to - from : from - to;
        if (change > value) value = change;
    }
};
template <>
struct LargestChange<std::int32_t> : LargestDistance<std::int32_t, std::uint32_t> {};
template <>
struct LargestChange<std::int64_t> : LargestDistance<std::int64_t, std::uint64_t> {};

struct Unmeasured {
    template <typename Value>
    void see(const Value& /*before*/, const Value& /*after*/) {}
    double value = 0.0;
};

}  // namespace lanewise::wavefront
