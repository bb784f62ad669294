// SPDX-License-Identifier: BSD-3-Clause
//
// Proof: how the MPI answers calls under a file of rules. A collective is called with every
// argument given and, if asked for, once more the way the standard allows and few programs do.

#pragma once

#include <cstdint>
#include <string>

#include "base/json.hpp"
#include "collectives/algorithm.hpp"
#include "measure/harness/harness.hpp"
#include "tune/mpi_algorithms.hpp"

namespace lanewise::tune {

struct ProofRequest {
    collectives::Collective collective = collectives::Collective::barrier;
    std::uint64_t message_bytes = 0; /* a multiple of four for reductions */
    int ranks = 0;
};

/* COLLECTIVE:BYTES:RANKS */
Result<ProofRequest> read_proof_request(const std::string& text);

/* What is called besides a call with every argument given. */
struct Manners {
    bool sparse = false;  /* with insignificant arguments empty */
    bool ordered = false; /* reductions with an operator that does not commute */
};

/*
 * Calls the collective with root 0 and checks on each rank what it delivered. The record says for
 * each manner whether the result was right, wrong, or refused by the MPI, which algorithm is forced
 * and what the MPI's algorithms are. Collective; the record is meant for rank 0.
 */
Json prove(const ProofRequest& request, Manners manners, const MpiAlgorithms& algorithms,
           const measure::Harness& harness);

}  // namespace lanewise::tune
