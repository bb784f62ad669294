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
};

/* What a kernel does at once: waves that follow each other, the first in front, each on its band,
 * in the same columns. A whole step covers all columns; a kernel that takes spans is also given
 * steps over vectors [first, end) of the skewed layout, from left to right. */
struct Step {
    const Band *bands = nullptr;
    std::uint32_t count = 1;
    std::uint64_t first = 0;
    std::uint64_t end = ~std::uint64_t{0};
    double *changes = nullptr; /* for each band, raised to its largest |change|; may be null */
};

/* Updates a step. */
using StepFunction = void (*)(const void *cell, const Step& step);

/* Updates a band; returns the largest |change| of a cell where it measures, else 0. */
using BandFunction = double (*)(const void *cell, const Band& band);

/* The largest change so far: a change that is not a number counts as infinite, so that a sweep
 * that lost its numbers never passes for one that came to rest. */
template <typename Real>
struct LargestChange {
    Real value = 0;
    void see(Real before, Real after) {
        const Real change = after > before ? after - before : before - after;
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
