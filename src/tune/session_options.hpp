// SPDX-License-Identifier: BSD-3-Clause
//
// SessionOptions: the options of every program that compares implementations.

#pragma once

#include <lanewise/measure.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantities.hpp"
#include "base/result.hpp"
#include "tune/comparison.hpp"

namespace lanewise {
class Options;
}

namespace lanewise::tune {

struct SessionOptions {
    std::vector<std::uint64_t> sizes_bytes;
    ComparisonRule rule;
    Repetitions repetitions{10, 1000};
    double budget_s = 0.0;      /* for the whole run; 0: none */
    double time_limit_s = 10.0; /* for one comparison */
    std::uint64_t seed = 0;
    std::string output; /* measurements, one JSON line per comparison; empty: none is kept */
    bool resume = false;
    int ranks_expected = 0;
    std::string launcher;
    std::string transport;          /* by name; empty: what the launcher chooses */
    std::string same_bits;          /* what `lanewise run --same-bits` shall be; empty: nothing */
    std::vector<std::string> words; /* as typed */

    lw_measure_options measure_options() const;
};

void declare(Options& options, SessionOptions& session);

/* Refuses what is out of range, and completes the rule. */
Outcome admit(SessionOptions& session);

}  // namespace lanewise::tune
