// SPDX-License-Identifier: BSD-3-Clause
//
// Parts: a store cut by rows for several ranks, each part a store on a disk of its own.
//
// A part holds its rows and, towards each neighbour, `radius` rows of that neighbour.

#pragma once

#include <string>
#include <vector>

#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

/* Makes one new store in each folder, the rows shared out evenly. An unfinished run goes with them,
 * and comes back when they are joined. */
Outcome split_store(const Store& whole, std::uint64_t radius,
                    const std::vector<std::string>& folders);

/* Joins the data of all parts in a new store; they must have gone through the same iterations. */
Outcome join_stores(const std::vector<std::string>& folders, const std::string& target);

}  // namespace lanewise::wavefront
