// SPDX-License-Identifier: BSD-3-Clause
//
// Ring: the number of short calls in a batch, chosen so that it does not matter where a batch
// begins.
//
// Open MPI passes messages of up to 1 KiB between two processes of a host through a ring of 4 KiB,
// in slots of 32 bytes of which the first is not used (opal/mca/btl/vader, 4.1: btl_vader_fbox.h
// and btl_vader_endpoint.h). Two slots share a cache line, and depending on the half that its
// message gets, MPI_Scatter of 2 bytes after an allreduce takes 175 to 211 ns or 240 to 287 (8
// launches, siblings of an EPYC). With two messages per call the half changes once per trip around
// the ring, since the number of slots is odd. A shorter batch depends on where the last one ended;
// candidates in a fixed order get the same half each time, which changed one against its equal by
// up to 12 %.

#pragma once

#include <cstddef>

namespace lanewise::experiments {

inline constexpr std::size_t ring_message_max_bytes = 1024;
inline constexpr std::size_t ring_slots = 127;

/* With two slots per call: whole trips around the ring, half of them with each half line. */
inline constexpr std::size_t ring_batch = 4 * ring_slots;

}  // namespace lanewise::experiments
