// SPDX-License-Identifier: BSD-3-Clause
//
// Combine: sums and products of two vectors, in the same bits wherever they are computed. An MPI
// may multiply complex numbers in one way or another, and which NaN comes out of two depends on how
// a loop was compiled, so reductions that promise bits use these.
//
// Each operation is rounded once, to nearest, ties to even, whatever the program has chosen, and
// subnormal numbers count. A NaN is the quiet one without sign and payload. A complex product is
// (ac - bd) + (ad + bc)i as written, without the correction of infinities that C knows.

#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise::sums {

/* The numbers of a vector: `per_element` in an element, two where they are complex. */
struct Numbers {
    bool are_doubles = true; /* else floats */
    int per_element = 1;
};

enum class Combining : std::uint8_t { sum, product };

/* `right` becomes `left` op `right`; both have `count` elements. */
using Combine = void (*)(const std::byte *left, std::byte *right, std::int64_t count);

Combine combine_by(Combining combining, Numbers numbers);

}  // namespace lanewise::sums
