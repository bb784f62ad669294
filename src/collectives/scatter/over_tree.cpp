// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/scatter/over_tree.hpp"

#include "collectives/blocks.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

struct Ready {
    Slice at;
    StepId after = model::no_step;
};

// The blocks of a subtree as one slice: where they lie, or packed where they do not lie together.
Ready pack(model::Builder& steps, const std::vector<Stretch>& stretches, Slice blocks,
           StepId ready) {
    if (stretches.empty()) return {blocks, ready};
    if (stretches.size() == 1) return {blocks.at(stretches.front().in_buffer), ready};
    const auto& end = stretches.back();
    const auto packed = steps.scratch(end.in_row + end.count);
    for (const auto& stretch : stretches) {
        ready = steps.copy(blocks.at(stretch.in_buffer), packed.at(stretch.in_row), stretch.count,
                           {ready});
    }
    return {packed, ready};
}

void hand_out(model::Builder& steps, const Shape& shape, const Placement& placement, Slice blocks,
              StepId ready) {
    const Bounds bounds(shape, placement);
    StepId last = model::no_step;
    for (const auto& child : binomial_tree(0, shape.ranks).children) {
        const int end = child.rank + child.subtree;
        const auto packed =
            pack(steps, stretches_of(shape, placement, child.rank, end), blocks, ready);
        last = steps.send(placement.rank_at(child.rank), packed.at, bounds.size(child.rank, end),
                          {packed.after, last});
    }
    steps.copy(blocks.at(shape.offset_of(shape.root)), {Place::receive, 0},
               shape.count_of(shape.root), {ready});
}

void hand_on(model::Builder& steps, const Shape& shape, const Placement& placement, int me) {
    const auto tree = binomial_tree(me, shape.ranks);
    const Bounds bounds(shape, placement);
    const auto total = bounds.size(me, me + tree.subtree);
    const bool leaf = tree.children.empty();
    const auto blocks = leaf ? Slice{Place::receive, 0} : steps.scratch(total);
    const auto ready = steps.receive(placement.rank_at(tree.parent), blocks, total);
    StepId last = model::no_step;
    for (const auto& child : tree.children) {
        last = steps.send(placement.rank_at(child.rank), blocks.at(bounds.size(me, child.rank)),
                          bounds.size(child.rank, child.rank + child.subtree), {ready, last});
    }
    if (!leaf) steps.copy(blocks, {Place::receive, 0}, bounds.size(me), {ready});
}

}  // namespace

void scatter_over_tree(model::Builder& steps, const Shape& shape, const Placement& placement,
                       Slice blocks, StepId ready) {
    const int me = placement.node_of(shape.rank);
    if (me == 0) {
        hand_out(steps, shape, placement, blocks, ready);
    } else {
        hand_on(steps, shape, placement, me);
    }
}

}  // namespace lanewise::collectives
