// SPDX-License-Identifier: BSD-3-Clause
//
// Calls: collectives called the way the standard allows and few programs do.

#pragma once

#include <mpi.h>

#include <cstdint>

#include "collectives/algorithm.hpp"

namespace lanewise::tools {

enum class Manner {
    full,   /* every argument given on every rank */
    sparse, /* insignificant arguments empty, MPI_IN_PLACE where there is one */
};

enum class Answer { right, wrong, refused };

/*
 * Calls `collective` with root 0 and checks on this rank what it delivered;
 * refused where the MPI returns an error. `message_bytes` is a multiple of four
 * for reductions.
 */
Answer call_and_check(collectives::Collective collective, std::uint64_t message_bytes,
                      Manner manner, MPI_Comm comm);

}  // namespace lanewise::tools
