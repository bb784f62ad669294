// SPDX-License-Identifier: BSD-3-Clause
//
// Prepared: tests in which the interposed functions are linked into the program,
// on a tuning file that the first rank writes before anybody needs it: for every
// operation one algorithm at (nearly) all sizes. What is passed on to the MPI is counted.

#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "collectives/algorithm.hpp"

namespace lanewise::tuned::testing {

int world_rank();
int world_size();

/* The algorithm that the file names: of a blocking operation the first that there is; of a
   nonblocking one one that needs somebody to go on, where it can be had. Null: none. */
const collectives::Algorithm *first_of(collectives::Operation operation);

/* Up to here the rule of the blocking broadcast goes; the others are for all sizes. */
inline constexpr std::uint64_t ruled_bcast_bytes = 100'000;

/* Calls that were left to the MPI. */
extern std::atomic<int> passed_on;

/* How many of the calls that `body` makes were left to it. */
template <typename Body>
int passed_by(const Body& body) {
    passed_on = 0;
    body();
    return passed_on;
}

}  // namespace lanewise::tuned::testing
