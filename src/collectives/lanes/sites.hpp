// SPDX-License-Identifier: BSD-3-Clause
//
// Sites: the ranks of each site, in the order in which they carry lanes. Ranks
// on distinct hosts come first, since two on one host share its interface.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

struct Site {
    int number = 0;         /* in Shape::sites */
    std::vector<int> ranks; /* distinct hosts first, else ascending; the root before all */
};

/* The root's site, then the others by number. One site with all ranks where none are known. */
std::vector<Site> sites_of(const Shape& shape);

}  // namespace lanewise::collectives
