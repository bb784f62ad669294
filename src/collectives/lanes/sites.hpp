// SPDX-License-Identifier: BSD-3-Clause
//
// Sites: the ranks of each site, in the order in which they get lanes. Ranks on distinct hosts come
// first, because two ranks of one host share its interface.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

struct Site {
    int number = 0;         /* in CallShape::sites */
    std::vector<int> ranks; /* distinct hosts first, else ascending; the root before all */
};

/* The root's site, then the others by number. One site with all ranks where none are known. */
std::vector<Site> sites_of(const CallShape& shape);

/* Which rank of each site sends and receives slice l between the sites. A lane joins the ranks of
   one slice at two sites. Site 0 is that of the root, where there is one. */
class LaneRanks {
  public:
    explicit LaneRanks(const CallShape& shape);

    int sites() const { return static_cast<int>(sites_.size()); }
    /* At most CallShape::lanes, and as many as the largest site has ranks. */
    int slices() const { return slices_; }
    /* The number of the site that this rank is at, in the order in which all ranks see them. */
    int site() const { return here_; }
    const std::vector<int>& ranks(int site) const {
        return sites_[static_cast<std::size_t>(site)].ranks;
    }
    int of(int site, int slice) const {
        const auto& all = ranks(site);
        return all[static_cast<std::size_t>(slice) % all.size()];
    }
    /* The other ranks of this rank's site, its next neighbour first. */
    const std::vector<int>& others() const { return others_; }

  private:
    std::vector<Site> sites_;
    int slices_ = 1;
    int here_ = 0;
    std::vector<int> others_;
};

}  // namespace lanewise::collectives
