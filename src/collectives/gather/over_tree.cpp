// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/gather/over_tree.hpp"

#include "collectives/blocks.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

struct Unpacking {
    StepId received = model::no_step;
    Slice packed;
    std::vector<Stretch> stretches;
};

// The smallest subtrees are complete first, and are received first.
void collect(model::Builder& steps, const Shape& shape, const Placement& placement) {
    const Bounds bounds(shape, placement);
    const Slice blocks{Place::receive, 0};
    const auto tree = binomial_tree(0, shape.ranks);
    std::vector<Unpacking> unpacking;
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        const int end = child->rank + child->subtree;
        auto stretches = stretches_of(shape, placement, child->rank, end);
        if (stretches.empty()) continue;
        const auto count = bounds.size(child->rank, end);
        const bool together = stretches.size() == 1;
        const auto to = together ? blocks.at(stretches.front().in_buffer) : steps.scratch(count);
        const auto received = steps.receive(placement.rank_at(child->rank), to, count);
        if (!together) unpacking.push_back({received, to, std::move(stretches)});
    }
    steps.copy({Place::send, 0}, blocks.at(shape.offset_of(shape.root)),
               shape.count_of(shape.root));
    for (const auto& [received, packed, stretches] : unpacking) {
        for (const auto& stretch : stretches) {
            steps.copy(packed.at(stretch.in_row), blocks.at(stretch.in_buffer), stretch.count,
                       {received});
        }
    }
}

void pass_on(model::Builder& steps, const Shape& shape, const Placement& placement, int me) {
    const auto tree = binomial_tree(me, shape.ranks);
    const Bounds bounds(shape, placement);
    const auto total = bounds.size(me, me + tree.subtree);
    const bool leaf = tree.children.empty();
    const auto blocks = leaf ? Slice{Place::send, 0} : steps.scratch(total);
    std::vector<StepId> arrived;
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        arrived.push_back(steps.receive(placement.rank_at(child->rank),
                                        blocks.at(bounds.size(me, child->rank)),
                                        bounds.size(child->rank, child->rank + child->subtree)));
    }
    if (!leaf) arrived.push_back(steps.copy({Place::send, 0}, blocks, bounds.size(me)));
    steps.send_after(arrived, placement.rank_at(tree.parent), blocks, total);
}

}  // namespace

model::Schedule gather_over_tree(const Shape& shape, const Placement& placement) {
    model::Builder steps;
    const int me = placement.node_of(shape.rank);
    if (me == 0) {
        collect(steps, shape, placement);
    } else {
        pass_on(steps, shape, placement, me);
    }
    return steps.finish();
}

}  // namespace lanewise::collectives
