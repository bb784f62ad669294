// SPDX-License-Identifier: BSD-3-Clause
//
// Partial: what a rank has of a reduction in which pairs of ranks exchange vectors or parts of
// them, and how any number of ranks is first folded to a power of two.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Elements of the vector. */
struct Range {
    std::int64_t begin = 0;
    std::int64_t count = 0;
};

/*
 * A power of two of nodes. Of the first `extra` pairs of ranks (0 and 1, 2 and 3, ...) one is the
 * node and has the vector of the other; `kept` is a node if it is in a pair. Nodes are in the
 * order of ranks.
 */
struct Folding {
    explicit Folding(int ranks, int kept = 0);

    bool is_node(int rank) const { return rank_at(node_of(rank)) == rank; }
    bool in_pair(int rank) const { return rank < 2 * extra; }
    int partner(int rank) const { return rank ^ 1; }
    int node_of(int rank) const { return in_pair(rank) ? rank / 2 : rank - extra; }
    int rank_at(int node) const;
    /* The first rank whose data the node has. */
    int first_rank(int node) const { return node < extra ? 2 * node : node + extra; }

    int nodes = 1;
    int extra = 0;
    int kept = 0;
};

class Partial {
  public:
    /* Begins with `value`, which is there after `ready`. Results may be written to `work`, which
       may be where `send` lies; all of them begin with element 0. */
    Partial(model::Builder& steps, int rank, std::int64_t count, model::Slice work,
            model::Slice value = {model::Place::send, 0}, model::StepId ready = model::no_step);

    /* Combines `range` with the peer's. */
    void take(int peer, Range range);
    /* Gives the peer one range and combines another, or the same, with the peer's. */
    void exchange(int peer, Range given, Range taken);
    /* Brings `range` to `work`. */
    void settle(Range range);

    model::Slice value() const { return value_; }
    model::StepId ready() const { return ready_; }
    /* The sends that may still be reading `send`. */
    std::span<const model::StepId> sends() const { return sends_; }

  private:
    void combine(int peer, Range range, model::StepId received, model::StepId sent);

    model::Builder& steps_;
    int rank_;
    model::Slice work_;
    model::Slice value_;
    model::Slice spare_;
    model::StepId ready_;
    std::vector<model::StepId> sends_;
};

/*
 * The first half of Rabenseifner's reductions. In the round of distance d a node exchanges halves
 * of what it has with the node d away and keeps one of them. Distances grow from 1 on, so that a
 * node always has the contributions of neighbouring ranks, in order, and near neighbours exchange
 * the most.
 */

/* A round: whom a node dealt with, what it gave away and what it kept. */
struct Halved {
    int bit = 1;
    int peer = 0;
    Range given;
    Range kept;
};

/* Answers the rounds; what was kept in the last is reduced over all nodes. */
std::vector<Halved> reduce_by_halving(Partial& partial, const Folding& folding, int rank,
                                      std::int64_t count);

}  // namespace lanewise::collectives
