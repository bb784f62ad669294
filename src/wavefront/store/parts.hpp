// SPDX-License-Identifier: BSD-3-Clause
//
// Parts: a store cut by rows for several ranks, each part a store on a disk of its own.
//
// A part holds its rows and, towards each neighbour, `radius` rows of that neighbour.

#pragma once

#include <string>
#include <vector>

#include "wavefront/store/rows_io.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

/* Makes one new store in each folder, the rows shared out evenly. An unfinished run goes with them,
 * and comes back when they are joined. Leaves nothing where that fails. */
Outcome split_store(const Store& whole, std::uint64_t radius,
                    const std::vector<std::string>& folders, const Watch& watch = {});

/* Joins the data of all parts, in their order, in a new store; they must have gone through the same
 * iterations. Leaves nothing where that fails. */
Outcome join_stores(const std::vector<const Store *>& parts, const std::string& target,
                    const Watch& watch = {});
/* The parts in `folders`, likewise. */
Outcome join_stores(const std::vector<std::string>& folders, const std::string& target);

}  // namespace lanewise::wavefront
