// SPDX-License-Identifier: BSD-3-Clause
//
// Promise: in which order candidates are tried where there is no time for all of them. Pure.

#pragma once

#include <cstdint>
#include <vector>

#include "collectives/execute/rank_placement.hpp"
#include "tune/candidates.hpp"

namespace lanewise::tune {

/*
 * Sets promise_s of each candidate: what is predicted where a platform is known, and otherwise what
 * its schedule takes on a network of the usual kind between these hosts and sites. The algorithms
 * of the MPI, of which no schedule is known, and what an algorithm does with segments other than
 * its own choice, come behind those that promise as much.
 */
void promise(std::vector<Candidate>& candidates, collectives::Collective collective, int ranks,
             std::uint64_t message_bytes, const collectives::RankPlacement& located);

}  // namespace lanewise::tune
