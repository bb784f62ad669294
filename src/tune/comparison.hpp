// SPDX-License-Identifier: BSD-3-Clause
//
// Race: which of several ways to do one thing is faster than the first of them?
//
// Entrant 0 is the reference (the MPI's default); the others are candidates. All
// run the same number of repetitions, 10, 20, 40, ... in all, in short batches
// that take turns: a round is a few passes over the entrants, every second pass
// in the reverse order of the one before, so that neither a drift nor a place in
// the order favours anyone. After a round a candidate leaves when its fate is
// known: hopeless (far behind the fastest: Jamieson and Talwalkar's successive
// halving, AISTATS 2016), lost (it cannot win by the margin any more), won (its
// interval lies below the reference's by the margin, and so do ever those it
// may still have to be told from).
//
// Pure: values in, the next passes out. Every rank feeds it the same numbers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/statistics.hpp"

namespace lanewise::tools {

struct RaceRule {
    double margin = 0.03;
    double confidence = 0.95;
    double error = 0.025;        /* winners this narrow need not be told from each other */
    double hopeless_ratio = 2.0; /* lower end over the fastest entrant's upper end */
    std::size_t repetitions_min = 10;
    std::size_t repetitions_max = 1000;
    std::size_t batch_max = 20;
};

enum class Standing {
    racing,
    won,       /* below the reference by the margin */
    lost,      /* cannot win by the margin */
    hopeless,  /* far behind the fastest after a short batch */
    exhausted, /* repetitions or time ran out first */
    failed,    /* could not be run */
};

/* A batch of `count` repetitions of one entrant. */
struct Heat {
    std::size_t entrant = 0;
    std::size_t count = 0;
};

class Race {
  public:
    /* `pruned[i]` says that candidate i is hopeless by prediction: it runs one short batch. */
    Race(const RaceRule& rule, const std::vector<bool>& pruned, std::uint64_t seed);

    /* The batches of the next round in their order; empty when the race is over. */
    std::vector<Heat> next_round();
    void add(std::size_t entrant, std::span<const double> values_s);
    void withdraw(std::size_t entrant);
    /* All batches of the round have been added. */
    void end_round();
    /* No time is left: whoever still races is exhausted. */
    void stop();

    std::size_t size() const { return entrants_.size(); }
    Standing standing(std::size_t entrant) const { return entrants_[entrant].standing; }
    const std::vector<double>& values(std::size_t entrant) const {
        return entrants_[entrant].values_s;
    }
    Interval interval(std::size_t entrant) const;
    /* Candidates below the reference by the margin, the fastest first. */
    std::vector<std::size_t> winners() const;

  private:
    struct Entrant {
        std::vector<double> values_s;
        Standing standing = Standing::racing;
        bool pruned = false;
    };
    bool runs(std::size_t entrant) const;
    bool over() const;
    void judge(std::size_t candidate, const Interval& reference, double fastest_s);
    bool told_apart(std::size_t winner) const;

    RaceRule rule_;
    std::vector<Entrant> entrants_;
    std::mt19937_64 random_;
    bool stopped_ = false;
};

/*
 * The batches in which `entrants` run `count` repetitions each, at most `batch_max`
 * at a time: passes in a random order, every second one the reverse of the last.
 */
std::vector<Heat> take_turns(std::span<const std::size_t> entrants, std::size_t count,
                             std::size_t batch_max, std::mt19937_64& random);

/* Whether all of `faster` lies below all of `slower` by the margin. */
bool clearly_below(const Interval& faster, const Interval& slower, double margin);

}  // namespace lanewise::tools
