// SPDX-License-Identifier: BSD-3-Clause
//
// Comparison: which of several implementations of one thing is faster than the first of them?
//
// Contender 0 is the reference (the MPI's default); the others are candidates. All run the same
// number of repetitions, 10, 20, 40, ... in all, in short interleaved batches: a round is a few
// passes over the contenders, every second pass in the reverse order of the one before, so that
// neither a drift nor a place in the order favours anyone. After a round a candidate is dropped as
// soon as the outcome is certain: it is dominated (far behind the fastest: Jamieson and Talwalkar's
// successive halving, AISTATS 2016), it cannot win by the margin any more, or it has won (its
// interval lies below the reference's by the margin, and apart from those of other candidates that
// have won or may still win).
//
// Pure: values in, the next passes out. Every rank feeds it the same numbers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/statistics.hpp"

namespace lanewise::tune {

struct ComparisonRule {
    double margin = 0.03;
    double confidence = 0.95;
    double error = 0.025;         /* winners this narrow need not be told from each other */
    double dominated_ratio = 2.0; /* lower end over the fastest contender's upper end */
    std::size_t repetitions_min = 10;
    std::size_t repetitions_max = 1000;
    std::size_t batch_max = 20;
};

enum class CandidateState {
    comparing,
    won,       /* below the reference by the margin */
    lost,      /* cannot win by the margin */
    dominated, /* far behind the fastest after a short batch */
    exhausted, /* repetitions or time ran out first */
    failed,    /* could not be run */
};

/* A batch of `count` repetitions of one contender. */
struct ScheduledBatch {
    std::size_t contender = 0;
    std::size_t count = 0;
};

class Comparison {
  public:
    /* `pruned[i]` says that candidate i is dominated by prediction: it runs one short batch. */
    Comparison(const ComparisonRule& rule, const std::vector<bool>& pruned, std::uint64_t seed);

    /* The batches of the next round in their order; empty when the comparison is over. */
    std::vector<ScheduledBatch> next_round();
    void add(std::size_t contender, std::span<const double> values_s);
    /* It cannot be run, and what it gave before no longer counts. */
    void withdraw(std::size_t contender);
    /* All batches of the round have been added. */
    void end_round();
    /* No time is left: candidates that are still compared are exhausted. */
    void stop();

    std::size_t size() const { return contenders_.size(); }
    CandidateState state(std::size_t contender) const { return contenders_[contender].state; }
    const std::vector<double>& values(std::size_t contender) const {
        return contenders_[contender].values_s;
    }
    Interval interval(std::size_t contender) const;
    /* Candidates below the reference by the margin, the fastest first. */
    std::vector<std::size_t> winners() const;

  private:
    struct Contender {
        std::vector<double> values_s;
        CandidateState state = CandidateState::comparing;
        bool pruned = false;
    };
    bool runs(std::size_t contender) const;
    bool over() const;
    void judge(std::size_t candidate, const Interval& reference, double fastest_s);
    bool told_apart(std::size_t winner) const;

    ComparisonRule rule_;
    std::vector<Contender> contenders_;
    std::mt19937_64 random_;
    bool stopped_ = false;
};

/*
 * The batches in which `contenders` run `count` repetitions each, at most `batch_max`
 * at a time: passes in a random order, every second one the reverse of the last.
 */
std::vector<ScheduledBatch> interleave(std::span<const std::size_t> contenders, std::size_t count,
                                       std::size_t batch_max, std::mt19937_64& random);

/* Whether all of `faster` lies below all of `slower` by the margin. */
bool clearly_below(const Interval& faster, const Interval& slower, double margin);

}  // namespace lanewise::tune
