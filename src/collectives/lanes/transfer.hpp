// SPDX-License-Identifier: BSD-3-Clause
//
// Transfer: one rank's steps of a scatter or gather over lanes.
//
// A rank posts all its receives, then forwards each segment as soon as it arrives, so that the
// three stages (root to lane senders, over the lanes, lane receivers to leaves) overlap. In the
// form of Chiba, Endo and Matsuoka a stage begins when the one before has ended on that rank.
//
// Source: Chiba, Endo and Matsuoka, "MPI_Scatter/Gather for grid environments", 2008, section 4.1
// and Fig. 3.
//
// Cost with lanes of bandwidth b: L + D / min(b_root, P b) + 2 c / b for D bytes and segments of c
// bytes; with the three stages in sequence: L + (P - 1) D / (P b_LAN) + D / (P b) + D / (P b_LAN).

#pragma once

#include "collectives/call_shape.hpp"
#include "collectives/lanes/plan.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

enum class Stages {
    overlapped, /* in segments */
    in_turn,    /* a rank forwards when it has received all that it forwards */
};

struct TransferMode {
    Dealing dealing = Dealing::by_bytes;
    Stages stages = Stages::overlapped;
};

inline constexpr TransferMode pipelined = {Dealing::by_bytes, Stages::overlapped};
inline constexpr TransferMode in_three_steps = {Dealing::by_blocks, Stages::in_turn};

model::Schedule scatter_over_lanes(const CallShape& shape, const TransferMode& mode);
model::Schedule gather_over_lanes(const CallShape& shape, const TransferMode& mode);

}  // namespace lanewise::collectives
