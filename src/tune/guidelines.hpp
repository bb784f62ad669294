// SPDX-License-Identifier: BSD-3-Clause
//
// Guidelines: what one may expect of an MPI that is consistent with itself
// (Traff, Gropp and Thakur, IEEE TPDS 21(5), 2010): a collective is not slower
// than others that do its work (mock-up), than itself with more data (monotony),
// or than itself twice with half the data (split-robustness). Pure.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "tune/implementation.hpp"

namespace lanewise::tune {

/* At this size the collective should not be slower than the parts after each other. */
struct Guideline {
    std::string kind; /* "mock-up", "monotony" or "split" */
    std::string text; /* "bcast <= scatter + allgather" */
    collectives::Collective collective = collectives::Collective::barrier;
    std::uint64_t message_bytes = 0;
    std::vector<Part> parts;
};

/* All that concern one of `collectives` on `ranks` ranks. `sizes_bytes` ascend. */
std::vector<Guideline> guidelines(const std::vector<collectives::Collective>& collectives,
                                  const std::vector<std::uint64_t>& sizes_bytes, int ranks);

}  // namespace lanewise::tune
