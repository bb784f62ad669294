// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/reduce/partial.hpp"

#include <bit>

namespace lanewise::collectives {

using model::Place;
using model::StepId;

Folding::Folding(int ranks, int kept_rank)
    : nodes(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
      extra(ranks - nodes),
      kept(kept_rank) {}

int Folding::rank_at(int node) const {
    if (node >= extra) return node + extra;
    return kept / 2 == node ? kept : 2 * node;
}

Partial::Partial(model::Builder& steps, int rank, std::int64_t count, model::Slice work,
                 model::Slice value, StepId ready)
    : steps_(steps),
      rank_(rank),
      work_(work),
      value_(value),
      spare_(steps.scratch(count)),
      ready_(ready) {}

void Partial::take(int peer, Range range) {
    const auto received = steps_.receive(peer, spare_.at(range.begin), range.count, {ready_});
    combine(peer, range, received, model::no_step);
}

void Partial::exchange(int peer, Range given, Range taken) {
    const auto received = steps_.receive(peer, spare_.at(taken.begin), taken.count, {ready_});
    const auto sent = steps_.send(peer, value_.at(given.begin), given.count, {ready_});
    sends_.push_back(sent);
    combine(peer, taken, received, sent);
}

// The lower rank is the left operand. The result goes to where the right one lies, and what is
// left over takes in the next; `send` is only read.
void Partial::combine(int peer, Range range, StepId received, StepId sent) {
    const auto here = value_.at(range.begin);
    const auto there = spare_.at(range.begin);
    if (rank_ < peer) {
        ready_ = steps_.reduce(here, there, range.count, {ready_, received, sent});
        const auto old = value_;
        value_ = spare_;
        spare_ = old.place == Place::send ? work_ : old;
        return;
    }
    if (value_.place == Place::send) {
        ready_ = steps_.copy(here, work_.at(range.begin), range.count, {ready_, sent});
        value_ = work_;
    }
    ready_ = steps_.reduce(there, value_.at(range.begin), range.count, {ready_, received, sent});
}

void Partial::settle(Range range) {
    if (value_ == work_) return;
    ready_ = steps_.copy(value_.at(range.begin), work_.at(range.begin), range.count, {ready_});
    value_ = work_;
}

std::vector<Halved> reduce_by_halving(Partial& partial, const Folding& folding, int rank,
                                      std::int64_t count) {
    std::vector<Halved> rounds;
    const int me = folding.node_of(rank);
    Range range{0, count};
    for (int bit = 1; bit < folding.nodes; bit *= 2) {
        const Range lower{range.begin, range.count - range.count / 2};
        const Range upper{range.begin + lower.count, range.count / 2};
        const bool keeps_lower = (me & bit) == 0;
        const Halved round{.bit = bit,
                           .peer = folding.rank_at(me ^ bit),
                           .given = keeps_lower ? upper : lower,
                           .kept = keeps_lower ? lower : upper};
        partial.exchange(round.peer, round.given, round.kept);
        rounds.push_back(round);
        range = round.kept;
    }
    return rounds;
}

}  // namespace lanewise::collectives
