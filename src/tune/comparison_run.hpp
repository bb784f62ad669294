// SPDX-License-Identifier: BSD-3-Clause
//
// A comparison run for real, and its result confirmed.
//
// Selecting the best of many candidates after repeated looks is biased (the winner's curse): the
// winner was chosen because its numbers came out low, so that its interval flatters it. Therefore
// the winners run again against the reference, in a fresh series of a length fixed beforehand, with
// the last rank as root. Neither the number of candidates nor the number of looks enters the
// confidence of that series. Where an implementation can do other work while it is under way, it
// does some in the confirmation: whoever is faster alone must be faster then as well.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/bench.hpp"
#include "tune/comparison.hpp"
#include "tune/implementation.hpp"

namespace lanewise::tune {

struct Contender {
    std::string name; /* in messages */
    Implementation implementation;
    int kind = 0; /* the best few winners of each kind are confirmed */
    bool pruned = false;
    /* The same with so many seconds of work meanwhile, for the confirmation; empty: as it is. */
    std::function<Implementation(double work_s)> working = nullptr;
};

struct Figures {
    Interval interval;
    std::size_t repetitions = 0;
};

struct Confirmed {
    std::size_t contender = 0;
    Figures figures;
};

struct Verdict {
    std::vector<Figures> compared; /* of each contender; without repetitions where it was not run */
    std::vector<CandidateState> states;
    std::vector<Confirmed> confirmation; /* the reference first; empty: nobody won */
    int confirmation_root = 0;
    double elapsed_s = 0.0;
};

struct ComparisonOptions {
    ComparisonRule rule;
    double time_limit_s = 10.0;
    std::uint64_t seed = 0;
    bool rooted = false;
};

/*
 * Runs the first of `contenders` against the others at one size. Collective; the
 * verdict is the same on every rank. Fails only where the reference does.
 */
Result<Verdict> run_comparison(measure::Bench& bench, const std::vector<Contender>& contenders,
                               std::uint64_t message_bytes, const ComparisonOptions& settings);

}  // namespace lanewise::tune
