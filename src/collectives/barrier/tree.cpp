// SPDX-License-Identifier: BSD-3-Clause
//
// Tree barrier: signals gather up a binomial tree and a release comes back down.
// Cost: 2 ceil(log2(n)) a, with 2 (n - 1) messages in all.

#include "collectives/tree.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto tree = binomial_tree(shape.rank, shape.ranks);
    std::vector<model::StepId> below;
    for (const auto& child : tree.children) below.push_back(steps.await(child.rank));
    auto released = model::no_step;
    if (tree.parent >= 0) {
        released = steps.await(tree.parent);
        steps.signal_after(below, tree.parent);
        below.assign(1, released);
    }
    for (const auto& child : tree.children) steps.signal_after(below, child.rank);
    return steps.finish();
}

}  // namespace

extern const Algorithm barrier_tree{
    .collective = Collective::barrier,
    .name = "tree",
    .source = "Mellor-Crummey and Scott, TOCS 9(1), 1991",
    .cost = "2 ceil(log2(n))a",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
