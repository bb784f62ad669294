// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/carry.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "collectives/blocks.hpp"
#include "collectives/lanes/flow.hpp"
#include "collectives/rank_order.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

// Large against what a message costs, small against what a lane has under way.
constexpr std::int64_t own_segment_bytes = 256 * 1024;

/* A segment as one rank sees it. */
struct Passage {
    int from = -1;     /* the rank it comes from; -1: it begins here */
    int to = -1;       /* the rank it goes to; -1: it ends here */
    Slice source = {}; /* where it lies once it is here */
    std::int64_t count = 0;
    StepId received = model::no_step;
};

bool is_home(const Shape& shape, int rank) {
    if (shape.sites.empty()) return true;
    return shape.sites[static_cast<std::size_t>(rank)] ==
           shape.sites[static_cast<std::size_t>(shape.root)];
}

std::vector<Travelling> flow(const Shape& shape, const Carriage& carriage) {
    std::int64_t units = 0;
    for (int rank = 0; rank < shape.ranks; ++rank) units += shape.count_of(rank);
    const auto segment = carriage.stages == Stages::in_turn
                             ? std::numeric_limits<std::int64_t>::max() / 2
                             : segments_of(shape, units, own_segment_bytes).piece;
    return flow_of(shape, lanes_of(shape, carriage.dealing), segment);
}

/* What passes this rank, in the order in which it does. */
std::vector<Passage> passages_of(const Shape& shape, std::vector<Travelling> flow,
                                 Direction direction) {
    const bool outward = direction == Direction::from_root;
    if (!outward) std::reverse(flow.begin(), flow.end());
    std::vector<Passage> found;
    for (const auto& one : flow) {
        const int at = one.place_of(shape.rank);
        if (at < 0) continue;
        const auto place = static_cast<std::size_t>(at);
        const int nearer = at > 0 ? one.ranks[place - 1] : -1;
        const int farther = at + 1 < one.stops ? one.ranks[place + 1] : -1;
        Passage passage{.from = outward ? nearer : farther,
                        .to = outward ? farther : nearer,
                        .source = {Place::scratch, 0},
                        .count = one.part.count};
        if (nearer < 0) {
            passage.source = {outward ? Place::send : Place::receive,
                              shape.offset_of(one.part.owner) + one.part.offset};
        } else if (farther < 0) {
            passage.source = {outward ? Place::receive : Place::send, one.part.offset};
        }
        found.push_back(passage);
    }
    return found;
}

void give_scratch(Builder& steps, std::vector<Passage>& passages) {
    for (auto& passage : passages) {
        if (passage.source.place == Place::scratch) passage.source = steps.scratch(passage.count);
    }
}

void receive_all(Builder& steps, std::vector<Passage>& passages) {
    for (auto& passage : passages) {
        if (passage.from < 0) continue;
        passage.received = steps.receive(passage.from, passage.source, passage.count);
    }
}

/* What the root hands to the lane senders of its site: so many segments to each at a time, so that
   the first are whole, and cross, while the others still come. */
class HandingOver {
  public:
    StepId before(int target) const {
        const auto found = sent_.find(target);
        if (found == sent_.end() || found->second.size() < window) return model::no_step;
        return found->second[found->second.size() - window];
    }
    void add(int target, StepId sent) { sent_[target].push_back(sent); }
    std::vector<StepId> all() const {
        std::vector<StepId> steps;
        for (const auto& [target, sent] : sent_) {
            steps.insert(steps.end(), sent.begin(), sent.end());
        }
        return steps;
    }

  private:
    static constexpr std::size_t window = 4;
    std::map<int, std::vector<StepId>> sent_;
};

/* Hands each segment on as soon as it is here. Lanes that begin here wait for nobody. */
HandingOver hand_on(Builder& steps, const Shape& shape, std::vector<Passage> passages) {
    HandingOver inside;
    std::stable_partition(passages.begin(), passages.end(), [&](const Passage& passage) {
        return passage.to >= 0 && !is_home(shape, passage.to);
    });
    for (const auto& passage : passages) {
        if (passage.to < 0) continue;
        const bool windowed = shape.is_root() && is_home(shape, passage.to);
        const auto before = windowed ? inside.before(passage.to) : model::no_step;
        const auto sent =
            steps.send(passage.to, passage.source, passage.count, {passage.received, before});
        if (windowed) inside.add(passage.to, sent);
    }
    return inside;
}

/* Hands on when all has been received: first inside the site, where others then have to do. */
HandingOver hand_on_in_turn(Builder& steps, const Shape& shape, std::vector<Passage> passages) {
    std::vector<StepId> received;
    for (const auto& passage : passages) {
        if (passage.to >= 0) received.push_back(passage.received);
    }
    std::stable_partition(passages.begin(), passages.end(), [&](const Passage& passage) {
        return passage.to >= 0 && is_home(shape, passage.to);
    });
    HandingOver inside;
    for (const auto& passage : passages) {
        if (passage.to < 0) continue;
        auto after = received;
        const bool at_home = is_home(shape, passage.to);
        if (!at_home) {
            const auto earlier = inside.all();
            after.insert(after.end(), earlier.begin(), earlier.end());
        }
        const auto sent = steps.send_after(after, passage.to, passage.source, passage.count);
        if (at_home) inside.add(passage.to, sent);
    }
    return inside;
}

HandingOver send_on(Builder& steps, const Shape& shape, std::vector<Passage> passages,
                    Stages stages) {
    return stages == Stages::in_turn ? hand_on_in_turn(steps, shape, std::move(passages))
                                     : hand_on(steps, shape, std::move(passages));
}

}  // namespace

model::Schedule scatter_over_lanes(const Shape& shape, const Carriage& carriage) {
    Builder steps;
    auto passages = passages_of(shape, flow(shape, carriage), Direction::from_root);
    give_scratch(steps, passages);
    receive_all(steps, passages);
    const auto own = shape.count_of(shape.rank);
    if (!shape.is_root()) {
        if (is_home(shape, shape.rank)) steps.receive(shape.root, {Place::receive, 0}, own);
        send_on(steps, shape, std::move(passages), carriage.stages);
        return steps.finish();
    }
    // The root's site is served when the lanes have been given what they carry.
    const auto handed_over = send_on(steps, shape, std::move(passages), carriage.stages).all();
    for (int rank = 0; rank < shape.ranks; ++rank) {
        if (rank == shape.root || !is_home(shape, rank)) continue;
        steps.send_after(handed_over, rank, {Place::send, shape.offset_of(rank)},
                         shape.count_of(rank));
    }
    steps.copy({Place::send, shape.offset_of(shape.rank)}, {Place::receive, 0}, own);
    return steps.finish();
}

model::Schedule gather_over_lanes(const Shape& shape, const Carriage& carriage) {
    Builder steps;
    auto passages = passages_of(shape, flow(shape, carriage), Direction::to_root);
    give_scratch(steps, passages);
    const auto own = shape.count_of(shape.rank);
    // The root's site gives its blocks while the lanes are still on their way.
    if (shape.is_root()) {
        for (int rank = 0; rank < shape.ranks; ++rank) {
            if (rank == shape.root || !is_home(shape, rank)) continue;
            steps.receive(rank, {Place::receive, shape.offset_of(rank)}, shape.count_of(rank));
        }
    }
    receive_all(steps, passages);
    if (!shape.is_root() && is_home(shape, shape.rank)) {
        steps.send(shape.root, {Place::send, 0}, own);
    }
    send_on(steps, shape, std::move(passages), carriage.stages);
    if (shape.is_root()) {
        steps.copy({Place::send, 0}, {Place::receive, shape.offset_of(shape.rank)}, own);
    }
    return steps.finish();
}

}  // namespace lanewise::collectives
