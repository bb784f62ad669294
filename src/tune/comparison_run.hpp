// SPDX-License-Identifier: BSD-3-Clause
//
// Contest: a race run for real, and its result confirmed.
//
// The winner of a race among many was chosen because its numbers came out low,
// and was looked at more than once, so its interval flatters it. Therefore the
// winners run again against the reference, in a fresh series of a length fixed
// beforehand, from the other end of the ranks as root. Only that series speaks
// of them without prejudice: neither the number of candidates nor the number of
// looks enters its confidence. Where a way can do other work while it is under
// way, the confirmation has it do some: whoever is faster alone must be so then.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/bench.hpp"
#include "tune/comparison.hpp"
#include "tune/implementation.hpp"

namespace lanewise::tools {

struct Entrant {
    std::string name; /* in messages */
    Way way;
    int kind = 0; /* the best few winners of each kind are confirmed */
    bool pruned = false;
    /* The way with so many seconds of work meanwhile, for the confirmation; empty: as it is. */
    std::function<Way(double work_s)> working = nullptr;
};

struct Figures {
    Interval interval;
    std::size_t repetitions = 0;
};

struct Confirmed {
    std::size_t entrant = 0;
    Figures figures;
};

struct Verdict {
    std::vector<Figures> race; /* of each entrant; without repetitions where it was not run */
    std::vector<Standing> standings;
    std::vector<Confirmed> confirmation; /* the reference first; empty: nobody won */
    int confirmation_root = 0;
    double elapsed_s = 0.0;
};

struct ContestSettings {
    RaceRule rule;
    double time_limit_s = 10.0;
    std::uint64_t seed = 0;
    bool rooted = false;
};

/*
 * Runs the first of `entrants` against the others at one size. Collective; the
 * verdict is the same on every rank. Fails only where the reference does.
 */
Result<Verdict> run_contest(measure::Bench& bench, const std::vector<Entrant>& entrants,
                            std::uint64_t message_bytes, const ContestSettings& settings);

}  // namespace lanewise::tools
