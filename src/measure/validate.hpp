// SPDX-License-Identifier: BSD-3-Clause
//
// Validate: whether an operation delivers what it should, on request. Every element
// of a send buffer encodes its rank and its place; after one execution the receive
// buffer is compared with what the operation's definition requires. This is done
// outside the measurement, so no timed repetition pays for it.

#pragma once

#include "measure/harness/harness.hpp"
#include "measure/harness/operation.hpp"

namespace lanewise::measure {

/* Fills `bytes` as the send buffer of `rank` is filled: each byte encodes rank and place. */
void mark(std::span<std::byte> bytes, int rank);
bool is_marked(std::span<const std::byte> bytes, int rank);

/* Executes `operation` once with each set of buffers and compares. Collective; the outcome is the
   same on every rank. */
Outcome validate(const Harness& harness, const lw_operation& operation, int root,
                 std::uint64_t message_bytes, const lw_buffers& layout = plain_buffers);

}  // namespace lanewise::measure
