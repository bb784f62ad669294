// SPDX-License-Identifier: BSD-3-Clause
//
// Halving: the first half of Rabenseifner's reductions. In the round of
// distance d a node exchanges halves of what it has with the node d away and
// keeps one of them. Distances grow from 1 on, so that a node always has the
// contributions of neighbouring ranks, in order, and near neighbours exchange
// the most.

#pragma once

#include <vector>

#include "collectives/reduce/partial.hpp"

namespace lanewise::collectives {

/* A round: whom a node dealt with, what it gave away and what it kept. */
struct Halved {
    int bit = 1;
    int peer = 0;
    Range given;
    Range kept;
};

/* Answers the rounds; what was kept in the last is reduced over all nodes. */
std::vector<Halved> reduce_by_halving(Partial& partial, const Folding& folding, int rank,
                                      std::int64_t count);

}  // namespace lanewise::collectives
