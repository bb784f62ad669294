// SPDX-License-Identifier: BSD-3-Clause
//
// Gather over a tree, for all gathers that only differ in the tree.

#pragma once

#include "collectives/call_shape.hpp"
#include "collectives/rank_order.hpp"
#include "collectives/tree.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Over a tree whose nodes are the ranks in `order`, and in which this rank is `tree`; every subtree
   is a row of nodes. A rank collects the blocks of its subtree behind its own and forwards them in
   one message; the children that are served last are received first. */
model::Schedule gather_over_tree(const CallShape& shape, const RankOrder& order, const Node& tree);

}  // namespace lanewise::collectives
