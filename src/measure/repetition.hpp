// SPDX-License-Identifier: BSD-3-Clause
//
// Repetition: when has a point been repeated often enough?
//
// The interval is checked only at geometric checkpoints (the minimum, twice the
// minimum, four times, ...) and never before two batches separated in time.
// Checking after every repetition (optional stopping) ends at chance minima, and
// one batch can lie entirely between two disturbances. Rules: the nonparametric
// interval of the median (default), or Student's two-sided interval of the mean
// (MPIBlib 2008, section 3).
//
// Pure: values and elapsed time in, the next batch or the reason to stop out.
// All ranks feed it the same numbers and so come to the same decision.

#pragma once

#include <lanewise/measure.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/statistics.hpp"

namespace lanewise::measure {

struct StoppingRule {
    lw_rule rule = LW_RULE_MEDIAN;
    std::size_t repetitions_min = 10;
    std::size_t repetitions_max = 1000;
    double confidence = 0.95;
    double error = 0.025;
    double time_limit_s = 0.0; /* 0: none */

    bool fixed() const { return repetitions_min == repetitions_max; }
};

class Repetition {
  public:
    explicit Repetition(StoppingRule rule) : rule_(rule) {}

    /* How many repetitions the next batch has; zero once stopped.
       `estimate_s` is what one took lately, for the time limit. */
    std::size_t next_batch(double estimate_s) const;

    /* Takes one batch: its values, how many were dropped as late, its wall time. */
    void add(std::span<const double> values, std::size_t late_count, double elapsed_s);

    std::optional<lw_stop> stopped() const { return stopped_; }
    /* Its ends are NaN where there are too few values for the confidence. */
    Interval interval() const;
    const std::vector<double>& values() const { return values_; }
    std::size_t late_count() const { return late_count_; }
    std::size_t batch_count() const { return batch_count_; }
    double elapsed_s() const { return elapsed_s_; }

  private:
    /* How many values the next check of the interval needs. */
    std::size_t checkpoint() const;
    std::optional<lw_stop> decide(std::size_t aim) const;

    StoppingRule rule_;
    std::vector<double> values_;
    std::size_t late_count_ = 0;
    std::size_t batch_count_ = 0;
    double elapsed_s_ = 0.0;
    std::optional<lw_stop> stopped_;
};

}  // namespace lanewise::measure
