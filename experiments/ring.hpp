// SPDX-License-Identifier: BSD-3-Clause
//
// Ring: how many short calls a batch has, so that it does not matter where it
// begins.
//
// Open MPI passes messages of up to 1 KiB between two processes of a host
// through a ring of 4 KiB, in places of 32 bytes of which the first is not used
// (opal/mca/btl/vader, 4.1: btl_vader_fbox.h and btl_vader_endpoint.h). Two
// places share a cache line, and by which half its message gets, MPI_Scatter of
// 2 bytes after an allreduce takes 175 to 211 ns or 240 to 287 (8 launches,
// siblings of an EPYC). With two messages in a call the half changes once in a
// round, since places are odd in number. A batch of less than a round has the
// luck of where the last one left off; contenders in a fixed order have the same
// luck each time, which moved one against its equal by up to 12 %.

#pragma once

#include <cstddef>

namespace lanewise::tools {

inline constexpr std::size_t ring_message_max_bytes = 1024;
inline constexpr std::size_t ring_places = 127;

/* With two places in a call, whole rounds, half of them with either half of a line. */
inline constexpr std::size_t ring_batch = 4 * ring_places;

}  // namespace lanewise::tools
