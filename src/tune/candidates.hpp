// SPDX-License-Identifier: BSD-3-Clause
//
// Candidates: what may take the place of the MPI's default in a collective at
// one size. Pure.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "tune/mpi_algorithms.hpp"

namespace lanewise::tune {

enum class Origin { lanewise, mpi };

struct Candidate {
    Origin origin = Origin::lanewise;
    std::string algorithm;
    std::int64_t segment_bytes = 0; /* 0: the algorithm's own choice, or none */
    int lanes = 1;
    const collectives::Algorithm *lanewise = nullptr;
    MpiAlgorithm own;
    double predicted_s = -1.0; /* below 0: not predicted */
    bool pruned = false;
    double promise_s = 0.0; /* promise.hpp */
};

/*
 * Lanewise's algorithms that can serve `call`, then the MPI's `own`. Those that
 * cut messages up are there with a few segment sizes, where a message has at
 * least two segments of them; those that use lanes with 1, 2, 4, ... and the most,
 * and with every number up to 16 where a platform can tell which are worth trying. Those of
 * `names` are also there where they are not listed, as a k-nomial tree of any radix.
 */
std::vector<Candidate> candidates(collectives::Collective collective, std::uint64_t message_bytes,
                                  const collectives::CallTraits& call,
                                  const std::vector<MpiAlgorithm>& own,
                                  const std::vector<std::string>& names = {});

/* Keeps those with one of these names; all where there are none. */
void keep_named(std::vector<Candidate>& candidates, const std::vector<std::string>& names);

/* Keeps those that reduce in the balanced bracketing, without `unless`, which others are compared
   with. */
void keep_balanced(std::vector<Candidate>& candidates, const collectives::Algorithm *unless);

/* Leaves out, of the numbers of lanes between 1, 2, 4, ... and the most, those that are predicted
   to take more than `ratio` times the best number of the same algorithm. */
void rule_out_lanes(std::vector<Candidate>& candidates, double ratio);

/* Marks those predicted to take more than `dominated_ratio` times the best prediction. */
void prune(std::vector<Candidate>& candidates, double dominated_ratio);

}  // namespace lanewise::tune
