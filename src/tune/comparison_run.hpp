// SPDX-License-Identifier: BSD-3-Clause
//
// A comparison run for real, and its result confirmed; and a judgement of those whom a comparison
// in another launch has chosen.
//
// Selecting the best of many candidates after repeated looks is biased (the winner's curse): the
// winner was chosen because its numbers came out low, so that its interval flatters it. Therefore
// the winners run again against the reference, in a fresh series of a length fixed beforehand, with
// the last rank as root. Neither the number of candidates nor the number of looks enters the
// confidence of that series.
//
// What `lanewise tune` chooses in one launch is judged in others, since launches differ by more
// than the intervals within one say; there everyone runs as often as the reference.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
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
    double promise_s = 0.0; /* the least is tried first where there is no time for all */
};

/* What is about to run: one of the contenders, the reference being number 0 of them. */
struct Trial {
    const std::string& contender;
    std::size_t number = 0;
    std::size_t contenders = 0;
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
    bool out_of_budget = false; /* it ended early; without a confirmation it proves nothing */
    double least_s = 0.0;       /* what a first look takes, where the budget has no time for it */

    /* Whether there is something to choose from. */
    bool has_looked() const;
};

/* What a first look is where the budget has too little time for it: given up, or as much of it as
   there is time for. */
enum class FirstLook { whole, brief };

struct ComparisonOptions {
    ComparisonRule rule;
    double time_limit_s = 10.0;
    std::uint64_t seed = 0;
    bool rooted = false;
    bool confirms = true; /* in the same launch */
    int root = 0;         /* of the comparison, and of a judgement */
    /* No batch begins that would probably end later than this. */
    double budget_s = std::numeric_limits<double>::infinity();
    /* What of that is meant for this size, for which repetitions are planned. */
    double share_s = std::numeric_limits<double>::infinity();
    FirstLook look = FirstLook::whole;
    double expected_s = 0.0; /* of one repetition of the reference, before it is measured */
    std::function<void(const Trial& trial)> tell = {}; /* on every rank; may be empty */
};

/*
 * Runs the first of `contenders` against the others at one size. Collective; the
 * verdict is the same on every rank. Fails only where the reference does.
 *
 * Before a brief look a repetition of the reference shows what the budget has time for. There are
 * fewer repetitions then, down to one, and then fewer contenders, the most promising first.
 */
Result<Verdict> run_comparison(measure::Bench& bench, const std::vector<Contender>& contenders,
                               std::uint64_t message_bytes, const ComparisonOptions& settings);

/*
 * Runs all of `contenders` interleaved and equally often, as often as the time allows, with a
 * budget at least three times; each is expected to take as long as the reference. Their figures are
 * in the confirmation, those of the reference first; who failed is not in it. Collective, the same
 * on every rank.
 */
Result<Verdict> run_judgement(measure::Bench& bench, const std::vector<Contender>& contenders,
                              std::uint64_t message_bytes, const ComparisonOptions& settings);

}  // namespace lanewise::tune
