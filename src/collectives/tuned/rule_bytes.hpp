// SPDX-License-Identifier: BSD-3-Clause
//
// RuleBytes: the size by which a call is looked up among the rules, from what is significant on
// this rank.

#pragma once

#include <cstdint>
#include <optional>

#include "collectives/execute/call.hpp"
#include "collectives/execute/communicator_state.hpp"

namespace lanewise::tuned {

/* None: the call is not valid, or its blocks are of several sizes. */
std::optional<std::uint64_t> message_bytes(const collectives::Call& call,
                                           const collectives::CommunicatorState& state);

/* Whether this is a reduce_scatter of blocks, of one size or of several. */
bool has_blocks(const collectives::Call& call, const collectives::CommunicatorState& state);

}  // namespace lanewise::tuned
