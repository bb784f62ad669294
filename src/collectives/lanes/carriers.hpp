// SPDX-License-Identifier: BSD-3-Clause
//
// Carriers: which rank of each site carries slice l between the sites, where a
// collective has no root. A lane joins the carriers of one slice at two sites.

#pragma once

#include <vector>

#include "collectives/lanes/sites.hpp"
#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

class Carriers {
  public:
    explicit Carriers(const Shape& shape);

    int sites() const { return static_cast<int>(sites_.size()); }
    /* At most Shape::lanes, and as many as the largest site has ranks. */
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
