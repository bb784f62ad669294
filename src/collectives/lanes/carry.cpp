// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/carry.hpp"

#include <algorithm>
#include <limits>

#include "collectives/blocks.hpp"
#include "collectives/lanes/flow.hpp"

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
    int from = -1; /* the rank it comes from; -1: it begins here */
    int to = -1;   /* the rank it goes to; -1: it ends here */
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

/* What passes this rank on its way from the root. */
std::vector<Passage> outward(const Shape& shape, const std::vector<Travelling>& flow) {
    std::vector<Passage> found;
    for (const auto& one : flow) {
        const int at = one.place_of(shape.rank);
        if (at < 0) continue;
        Passage passage{.count = one.part.count};
        if (at > 0) passage.from = one.ranks[static_cast<std::size_t>(at) - 1];
        if (at + 1 < one.stops) passage.to = one.ranks[static_cast<std::size_t>(at) + 1];
        if (passage.from < 0) {
            passage.source = {Place::send, shape.offset_of(one.part.owner) + one.part.offset};
        } else if (passage.to < 0) {
            passage.source = {Place::receive, one.part.offset};
        } else {
            passage.source = {Place::scratch, 0};
        }
        found.push_back(passage);
    }
    return found;
}

/* The same backwards. */
std::vector<Passage> inward(const Shape& shape, const std::vector<Travelling>& flow) {
    std::vector<Passage> found;
    for (auto one = flow.rbegin(); one != flow.rend(); ++one) {
        const int at = one->place_of(shape.rank);
        if (at < 0) continue;
        Passage passage{.count = one->part.count};
        if (at > 0) passage.to = one->ranks[static_cast<std::size_t>(at) - 1];
        if (at + 1 < one->stops) passage.from = one->ranks[static_cast<std::size_t>(at) + 1];
        if (passage.from < 0) {
            passage.source = {Place::send, one->part.offset};
        } else if (passage.to < 0) {
            passage.source = {Place::receive, shape.offset_of(one->part.owner) + one->part.offset};
        } else {
            passage.source = {Place::scratch, 0};
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

/* Sends on what is not for this rank; returns the sends to ranks of the root's site. */
std::vector<StepId> send_on(Builder& steps, const Shape& shape, std::vector<Passage> passages,
                            Stages stages) {
    std::vector<StepId> inside;
    std::vector<StepId> all;
    if (stages == Stages::in_turn) {
        for (const auto& passage : passages) {
            if (passage.to >= 0) all.push_back(passage.received);
        }
        // What goes inside the site comes first: others then have something to do.
        std::stable_partition(passages.begin(), passages.end(), [&](const Passage& passage) {
            return passage.to >= 0 && is_home(shape, passage.to);
        });
    }
    for (const auto& passage : passages) {
        if (passage.to < 0) continue;
        const bool at_home = is_home(shape, passage.to);
        std::vector<StepId> after{passage.received};
        if (stages == Stages::in_turn) {
            after = all;
            if (!at_home) after.insert(after.end(), inside.begin(), inside.end());
        }
        const auto sent = steps.send_after(after, passage.to, passage.source, passage.count);
        if (at_home) inside.push_back(sent);
    }
    return inside;
}

}  // namespace

model::Schedule scatter_over_lanes(const Shape& shape, const Carriage& carriage) {
    Builder steps;
    auto passages = outward(shape, flow(shape, carriage));
    give_scratch(steps, passages);
    receive_all(steps, passages);
    const auto own = shape.count_of(shape.rank);
    if (!shape.is_root()) {
        if (is_home(shape, shape.rank)) steps.receive(shape.root, {Place::receive, 0}, own);
        send_on(steps, shape, std::move(passages), carriage.stages);
        return steps.finish();
    }
    // The root's site is served when the lanes have been given what they carry.
    const auto handed_over = send_on(steps, shape, std::move(passages), carriage.stages);
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
    auto passages = inward(shape, flow(shape, carriage));
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
