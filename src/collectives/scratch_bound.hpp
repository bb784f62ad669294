// SPDX-License-Identifier: BSD-3-Clause
//
// ScratchBound: how much scratch memory an algorithm takes at most on any rank, so that the limit
// on it is known to hold without building the schedules of all ranks. The entry of an algorithm
// names one of these functions or one of its own; a test builds the schedules. They look at what
// all ranks know alike: not at `rank`, at `count` beside `counts`, nor at where blocks lie.

#pragma once

#include <cstdint>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

/* Units of the blocks of all ranks together. */
std::int64_t units_of_all_blocks(const CallShape& shape);

/* Units of the largest of the blocks of all ranks. */
std::int64_t largest_block(const CallShape& shape);

template <int number>
std::int64_t all_blocks_times(const CallShape& shape) {
    return number * units_of_all_blocks(shape);
}

/* Blocks of one size stand in a row; others may lie apart and then are put in one. */
inline std::int64_t all_blocks_unless_even(const CallShape& shape) {
    return shape.counts.empty() ? 0 : units_of_all_blocks(shape);
}

template <int number>
std::int64_t vector_times(const CallShape& shape) {
    return number * shape.count;
}

inline std::int64_t vector_of_all_ranks(const CallShape& shape) {
    return shape.ranks * shape.count;
}

/* The same block from each rank. */
inline std::int64_t block_of_all_ranks(const CallShape& shape) {
    return shape.ranks * largest_block(shape);
}

}  // namespace lanewise::collectives
