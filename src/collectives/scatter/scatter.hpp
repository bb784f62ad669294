// SPDX-License-Identifier: BSD-3-Clause
//
// Scatter as a part of other schedules: scatterv and the last stage of a reduce-scatter use the
// same steps.

#pragma once

#include "collectives/call_shape.hpp"
#include "collectives/rank_order.hpp"
#include "collectives/tree.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Whether the root's messages follow one another or are all posted at once. */
enum class Posting { one_by_one, at_once };

/* Both scatter the blocks that begin at the root's `blocks`, which is ready after `ready`. */
void scatter_linearly(model::Builder& steps, const CallShape& shape, model::Slice blocks,
                      model::StepId ready, Posting posting);

/* Over a tree whose nodes are the ranks in `order`, and in which this rank is `tree`; every subtree
   is a row of nodes. A rank receives the blocks of its subtree in one message, keeps its own and
   sends those of its children on, in the order in which they are served. */
void scatter_over_tree(model::Builder& steps, const CallShape& shape, const RankOrder& order,
                       model::Slice blocks, model::StepId ready, const Node& tree, Posting posting);

}  // namespace lanewise::collectives
