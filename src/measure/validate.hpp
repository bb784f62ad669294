// SPDX-License-Identifier: BSD-3-Clause
//
// Validate: whether an operation delivers what it should, on request. Every
// element of a send buffer tells its rank and its place; after one execution
// the receive buffer is compared with what the operation's definition says must
// be there. It is done beside the measurement, so it costs no time that counts.

#pragma once

#include "measure/harness.hpp"
#include "measure/operation.hpp"

namespace lanewise::measure {

/* Where a block of a receive buffer comes from: block `block` of a rank's send buffer. With
   `last_rank` the sum of that block over the ranks from `rank` to it. */
struct Origin {
    int rank = 0;
    int block = 0;
    int last_rank = -1;
};

/* What rank `me` must have received; nothing where the definition leaves it open. */
struct Standpoint {
    int me = 0;
    int size = 1;
    int root = 0;
    int window = 1;
};
std::vector<Origin> origins(const std::string& operation, const Standpoint& here);

/* Executes `operation` once and compares. Collective; the outcome is the same on every rank. */
Outcome validate(const Harness& harness, const lw_operation& operation, int root,
                 std::uint64_t message_bytes);

}  // namespace lanewise::measure
