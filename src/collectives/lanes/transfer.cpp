// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/lanes/slices.hpp"
#include "collectives/rank_order.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

/* A segment and the ranks that it passes: root, lane sender, lane receiver and owner, without
   repetitions. A gather is the same in reverse. The order of segments is the same on every rank,
   which is why the n-th send meets the n-th receive. */
struct RoutedSegment {
    Part part;
    int lane = 0;
    std::array<int, 4> ranks = {}; /* from the root to the owner */
    int stops = 0;                 /* how many of `ranks` there are */

    /* Where `rank` stands among `ranks`; -1: the segment does not pass it. */
    int place_of(int rank) const;
};

int RoutedSegment::place_of(int rank) const {
    for (int i = 0; i < stops; ++i) {
        if (ranks[static_cast<std::size_t>(i)] == rank) return i;
    }
    return -1;
}

RoutedSegment route(const CallShape& shape, const Lane& lane, const Part& part) {
    RoutedSegment one{.part = part};
    for (const int rank : {shape.root, lane.sender, lane.receiver, part.owner}) {
        if (one.stops > 0 && one.ranks[static_cast<std::size_t>(one.stops) - 1] == rank) continue;
        one.ranks[static_cast<std::size_t>(one.stops++)] = rank;
    }
    return one;
}

std::vector<RoutedSegment> segments_of_lane(const CallShape& shape, const Lane& lane,
                                            std::int64_t segment) {
    std::vector<RoutedSegment> found;
    for (const auto& part : lane.parts) {
        for (std::int64_t done = 0; done < part.count; done += segment) {
            const auto count = std::min(segment, part.count - done);
            found.push_back(route(shape, lane, {part.owner, part.offset + done, count}));
        }
    }
    return found;
}

/* The parts of all lanes in segments of at most `segment` units. Lanes alternate, each as often as
   it has segments, so that all are under way at once and end together. */
std::vector<RoutedSegment> flow_of(const CallShape& shape, const std::vector<Lane>& lanes,
                                   std::int64_t segment) {
    struct Turn {
        double at;
        RoutedSegment segment;
    };
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        auto segments = segments_of_lane(shape, lanes[i], segment);
        for (std::size_t k = 0; k < segments.size(); ++k) {
            segments[k].lane = static_cast<int>(i);
            const double at = static_cast<double>(k) / static_cast<double>(segments.size());
            turns.push_back({at, segments[k]});
        }
    }
    std::stable_sort(turns.begin(), turns.end(),
                     [](const Turn& left, const Turn& right) { return left.at < right.at; });
    std::vector<RoutedSegment> flow;
    flow.reserve(turns.size());
    for (const auto& turn : turns) flow.push_back(turn.segment);
    return flow;
}

/* A segment as one rank sees it. */
struct Passage {
    int from = -1;     /* the rank it comes from; -1: it begins here */
    int to = -1;       /* the rank it goes to; -1: it ends here */
    Slice source = {}; /* where it lies once it is here */
    std::int64_t count = 0;
    StepId received = model::no_step;
};

bool is_home(const CallShape& shape, int rank) {
    if (shape.sites.empty()) return true;
    return shape.sites[static_cast<std::size_t>(rank)] ==
           shape.sites[static_cast<std::size_t>(shape.root)];
}

std::vector<RoutedSegment> flow(const CallShape& shape, const TransferMode& mode) {
    std::int64_t units = 0;
    for (int rank = 0; rank < shape.ranks; ++rank) units += shape.count_of(rank);
    const auto segment = mode.stages == Stages::in_turn
                             ? std::numeric_limits<std::int64_t>::max() / 2
                             : segments_of(shape, units, lane_segment_bytes).piece;
    return flow_of(shape, lanes_of(shape, mode.dealing), segment);
}

/* What passes this rank, in the order in which it does. */
std::vector<Passage> passages_of(const CallShape& shape, std::vector<RoutedSegment> flow,
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

/* What the root sends to the lane senders of its site: a few segments at a time to each, so that
   the first are complete, and cross, while the others are still coming. */
class SentInside {
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

/* Forwards each segment as soon as it is here. Lanes that begin here wait for nobody. */
SentInside forward(Builder& steps, const CallShape& shape, std::vector<Passage> passages) {
    SentInside inside;
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

/* Forwards when everything has been received, first inside the site: others there wait for it. */
SentInside forward_in_turn(Builder& steps, const CallShape& shape, std::vector<Passage> passages) {
    std::vector<StepId> received;
    for (const auto& passage : passages) {
        if (passage.to >= 0) received.push_back(passage.received);
    }
    std::stable_partition(passages.begin(), passages.end(), [&](const Passage& passage) {
        return passage.to >= 0 && is_home(shape, passage.to);
    });
    SentInside inside;
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

SentInside forward_all(Builder& steps, const CallShape& shape, std::vector<Passage> passages,
                       Stages stages) {
    return stages == Stages::in_turn ? forward_in_turn(steps, shape, std::move(passages))
                                     : forward(steps, shape, std::move(passages));
}

}  // namespace

model::Schedule scatter_over_lanes(const CallShape& shape, const TransferMode& mode) {
    Builder steps;
    auto passages = passages_of(shape, flow(shape, mode), Direction::from_root);
    give_scratch(steps, passages);
    receive_all(steps, passages);
    const auto own = shape.count_of(shape.rank);
    if (!shape.is_root()) {
        if (is_home(shape, shape.rank)) steps.receive(shape.root, {Place::receive, 0}, own);
        forward_all(steps, shape, std::move(passages), mode.stages);
        return steps.finish();
    }
    // The root's own site is served when the lanes have got their blocks.
    const auto sent = forward_all(steps, shape, std::move(passages), mode.stages).all();
    for (int rank = 0; rank < shape.ranks; ++rank) {
        if (rank == shape.root || !is_home(shape, rank)) continue;
        steps.send_after(sent, rank, {Place::send, shape.offset_of(rank)}, shape.count_of(rank));
    }
    steps.copy({Place::send, shape.offset_of(shape.rank)}, {Place::receive, 0}, own);
    return steps.finish();
}

model::Schedule gather_over_lanes(const CallShape& shape, const TransferMode& mode) {
    Builder steps;
    auto passages = passages_of(shape, flow(shape, mode), Direction::to_root);
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
    forward_all(steps, shape, std::move(passages), mode.stages);
    if (shape.is_root()) {
        steps.copy({Place::send, 0}, {Place::receive, shape.offset_of(shape.rank)}, own);
    }
    return steps.finish();
}

}  // namespace lanewise::collectives
