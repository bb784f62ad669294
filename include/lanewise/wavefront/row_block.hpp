// SPDX-License-Identifier: BSD-3-Clause
//
// Band: the rows that one wave updates in one step, and those it looks at.
//
// Matrices are numbered data first, then coefficients. The bands above and
// below are there whole; at the first and last band of a matrix their pointers
// repeat those of the band itself and no cell in the interior reads them.
// Only built-in types: this header is compiled once for each instruction set.

#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise::wavefront {

struct Band {
    std::uint64_t rows = 0;    /* of the whole matrix */
    std::uint64_t columns = 0; /* of the whole matrix */
    std::uint64_t first_row = 0;
    std::uint64_t row_count = 0; /* at most band_rows: fewer in the last band */
    std::uint64_t band_rows = 0;
    std::uint32_t data_count = 1;
    std::uint32_t coefficient_count = 0;
    std::byte *const *above = nullptr; /* for each matrix */
    std::byte *const *here = nullptr;
    std::byte *const *below = nullptr;
    std::byte *scratch = nullptr; /* of this wave: what a kernel keeps from band to band */
    std::uint64_t row_bytes = 0;  /* from row to row, in bands of rows */
    std::uint64_t slant = 0;      /* columns by which each row works further left than that above */
    /* Where data matrix 0 is read and written: another place for it is among the matrices where the
     * iteration before is kept whole. */
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
};

/* What a kernel does at once: waves that follow each other, the first in front, each on its band,
 * over vectors [first, end), from left to right: of the skewed layout, or of bands of rows, where
 * row l of a band has column j in vector j + slant l. */
struct Step {
    const Band *bands = nullptr;
    std::uint32_t count = 1;
    std::uint64_t first = 0;
    std::uint64_t end = ~std::uint64_t{0};
    double *changes = nullptr; /* for each band, raised to its largest |change|; may be null */
};

/* Updates a step. */
using StepFunction = void (*)(const void *cell, const Step& step);

/* What a step takes of the interior of one row. */
struct Columns {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};
inline Columns columns_of_row(const Step& step, const Band& band, std::uint64_t row,
                              std::uint64_t thickness) {
    const auto lag = band.slant * (row - band.first_row);
    const auto last = band.columns > thickness ? band.columns - thickness : 0;
    const auto first = step.first > lag ? step.first - lag : 0;
    const auto end = step.end > lag ? step.end - lag : 0;
    return {first > thickness ? first : thickness, end < last ? end : last};
}

/* Updates a band; returns the largest |change| of a cell where it measures, else 0. */
using BandFunction = double (*)(const void *cell, const Step& step, const Band& band);

/* The largest change so far: a change that is not a number counts as infinite, so that a sweep
 * that lost its numbers never passes for one that came to rest. */
template <typename Real>
struct LargestChange {
    Real value = 0;
    void see(Real before, Real after) {
        const Real change = after > before ? after - before : before - after;
        // Only what is no number differs from itself. NOLINTNEXTLINE(misc-redundant-expression)
        const Real sound = change == change ? change : static_cast<Real>(__builtin_inf());
        if (sound > value) value = sound;
    }
};

struct Unmeasured {
    template <typename Value>
    void see(const Value& /*before*/, const Value& /*after*/) {}
    double value = 0.0;
};

}  // namespace lanewise::wavefront
