// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/carriers.hpp"

#include <algorithm>

namespace lanewise::collectives {

Carriers::Carriers(const Shape& shape) : sites_(sites_of(shape)) {
    std::size_t most = 1;
    for (const auto& site : sites_) most = std::max(most, site.ranks.size());
    slices_ = std::clamp(shape.lanes, 1, static_cast<int>(most));
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        const auto& ranks = sites_[site].ranks;
        const auto me = std::find(ranks.begin(), ranks.end(), shape.rank);
        if (me == ranks.end()) continue;
        here_ = static_cast<int>(site);
        others_.assign(me + 1, ranks.end());
        others_.insert(others_.end(), ranks.begin(), me);
    }
}

}  // namespace lanewise::collectives
