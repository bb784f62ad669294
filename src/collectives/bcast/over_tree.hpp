// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast over a tree: the part shared by broadcasts that forward the vector from parent to
// child, whole or in pieces.

#pragma once

#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/call_shape.hpp"
#include "collectives/tree.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/*
 * Hands `pieces` of `vector` down the tree in which this rank is `node`, whose
 * ranks are relative to the root. Nothing is touched before `ready` is
 * complete. Answers the step after which each piece is here.
 */
std::vector<model::StepId> bcast_over_tree(model::Builder& steps, const CallShape& shape,
                                           const Node& node, const Pieces& pieces,
                                           model::Slice vector = {model::Place::receive, 0},
                                           model::StepId ready = model::no_step);

}  // namespace lanewise::collectives
