// SPDX-License-Identifier: BSD-3-Clause
//
// The balanced bracketing: a tree over the ranks in their order, which many algorithms can follow
// for vectors of any size, since a half of it is again such a tree.
//
// Where n is no power of two, the first ranks are combined in pairs, (0 1), (2 3), ..., until as
// many operands are left as the largest power of two below n. Then neighbours are combined,
// their results again, and so on. For 6 ranks: ((0 1) (2 3)) (4 5).

#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace lanewise::collectives {

/* Combines the parts of ranks 0, 1, ...: `combine(left, right)` answers the part that both make. */
template <typename Part, typename Combine>
Part fold_balanced(std::vector<Part> parts, const Combine& combine) {
    const auto combine_pairs = [&](std::size_t pairs) {
        std::vector<Part> next;
        next.reserve(parts.size() - pairs);
        for (std::size_t i = 0; i < pairs; ++i) {
            next.push_back(combine(parts[2 * i], parts[2 * i + 1]));
        }
        for (std::size_t i = 2 * pairs; i < parts.size(); ++i) next.push_back(parts[i]);
        parts = std::move(next);
    };
    combine_pairs(parts.size() - std::bit_floor(parts.size()));
    while (parts.size() > 1) combine_pairs(parts.size() / 2);
    return parts.front();
}

}  // namespace lanewise::collectives
