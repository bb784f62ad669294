// SPDX-License-Identifier: BSD-3-Clause
//
// Prediction: what a platform says of candidates before they are measured.

#pragma once

#include <vector>

#include "collectives/execute/rank_placement.hpp"
#include "model/simulation/network.hpp"
#include "tune/candidates.hpp"

namespace lanewise::tune {

/* Fills in predicted_s where the schedule can be priced; the MPI's own have none. */
void predict(std::vector<Candidate>& candidates, collectives::Collective collective,
             std::uint64_t message_bytes, const collectives::RankPlacement& located,
             const model::Network& network);

}  // namespace lanewise::tune
