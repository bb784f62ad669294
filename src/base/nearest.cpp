// SPDX-License-Identifier: BSD-3-Clause
//
// See nearest.hpp.

#include "base/nearest.hpp"

#include <algorithm>

namespace lanewise {
namespace {

// Levenshtein's distance: fewest insertions, deletions and replacements.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known) {
    std::string best;
    std::size_t least = wanted.size() / 3 + 2;
    for (const auto& name : known) {
        const auto off = distance(wanted, name);
        if (off >= least) continue;
        least = off;
        best = name;
    }
    return best;
}

}  // namespace lanewise
