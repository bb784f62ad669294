// SPDX-License-Identifier: BSD-3-Clause
//
// CallBytes: the size of a call as a profile tells it, for each rank from what that rank passes.
//
//   one size            the block of one rank, or the vector: as `lanewise tune` counts it
//   own block           of scatterv, gatherv, allgatherv and neighbor_allgatherv, and of
//                       reduce_scatter with counts: the block of this rank
//   all blocks          of (neighbor_)alltoallv and alltoallw: those that this rank sends
//
// Where a rank sends nothing to anybody, what it receives counts.

#pragma once

#include <cstdint>

#include "collectives/execute/call.hpp"
#include "collectives/execute/communicator_state.hpp"

namespace lanewise::tuned {

/* Of a call within one group that the MPI took, whose neighbors are known where it has some. */
std::uint64_t call_bytes(const collectives::Call& call,
                         const collectives::CommunicatorState& state);

}  // namespace lanewise::tuned
