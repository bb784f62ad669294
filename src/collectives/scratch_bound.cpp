// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/scratch_bound.hpp"

#include <algorithm>
#include <numeric>

namespace lanewise::collectives {

std::int64_t units_of_all_blocks(const CallShape& shape) {
    if (shape.counts.empty()) return shape.count * shape.ranks;
    return std::accumulate(shape.counts.begin(), shape.counts.end(), std::int64_t{0});
}

std::int64_t largest_block(const CallShape& shape) {
    return shape.counts.empty() ? shape.count : std::ranges::max(shape.counts);
}

}  // namespace lanewise::collectives
