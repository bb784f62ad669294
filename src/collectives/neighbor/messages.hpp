// SPDX-License-Identifier: BSD-3-Clause
//
// Messages: what one rank of a neighborhood collective receives and sends, without what is empty or
// goes to nobody. A rank may be a neighbor of itself, and of another more than once: the n-th
// message to a rank is the n-th that this rank receives.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

struct NeighborMessage {
    int peer = 0;
    model::Slice data;
    std::int64_t count = 0;
};

struct NeighborMessages {
    std::vector<NeighborMessage> received;
    std::vector<NeighborMessage> sent;
};

/* Copies what this rank sends itself, and returns all that remains, in the order of the blocks. */
NeighborMessages messages_to_others(model::Builder& steps, const CallShape& shape);

}  // namespace lanewise::collectives
