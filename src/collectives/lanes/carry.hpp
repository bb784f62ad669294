// SPDX-License-Identifier: BSD-3-Clause
//
// Carry: one rank's steps of a scatter or gather over lanes.
//
// A rank posts all that it will receive, then hands each segment on as soon as
// it is there, so that the three stages (root to lane senders, over the lanes,
// lane receivers to leaves) work at the same time. In the paper's own form a
// stage begins when the one before has ended on that rank.
//
// Source: Chiba, Endo and Matsuoka, 2008 (paper 001), section 4.1 and Fig. 3.
// Cost with lanes of bandwidth b: L + D / min(b_root, P b) + 2 c / b for D bytes
// and segments of c bytes; the three stages in turn:
// L + (P - 1) D / (P b_LAN) + D / (P b) + D / (P b_LAN).

#pragma once

#include "collectives/lanes/plan.hpp"
#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

enum class Stages {
    overlapped, /* in segments */
    in_turn,    /* a rank hands on when it has received all that it hands on */
};

struct Carriage {
    Dealing dealing = Dealing::by_bytes;
    Stages stages = Stages::overlapped;
};

inline constexpr Carriage pipelined = {Dealing::by_bytes, Stages::overlapped};
inline constexpr Carriage in_three_steps = {Dealing::by_blocks, Stages::in_turn};

model::Schedule scatter_over_lanes(const Shape& shape, const Carriage& carriage);
model::Schedule gather_over_lanes(const Shape& shape, const Carriage& carriage);

}  // namespace lanewise::collectives
