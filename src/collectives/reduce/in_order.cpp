// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of whole vectors in rank order, for any root.
//
// Cost, with g the time to combine a byte:
// linear: the root receives from one rank after the other, the highest first. (n - 1)(a + bM + gM).
// binomial: the ranks from the root on form one binomial tree and those before it another, which
//   the root combines last. (log2(n) + 1)(a + bM + gM).

#include "collectives/reduce/in_order.hpp"

#include <algorithm>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

constexpr Slice own{Place::send, 0};

// From the highest rank down, so that what is there is always the right operand and stays where
// it is. While one vector is combined, the next comes in.
Reduced collect_linearly(Builder& steps, const CallShape& shape, std::int64_t count) {
    const int me = shape.rank;
    const int highest = shape.ranks - 1;
    const auto result = steps.scratch(count);
    const Slice incoming[2] = {steps.scratch(count), steps.scratch(count)};
    StepId used[2] = {model::no_step, model::no_step};
    StepId ready =
        me == highest ? steps.copy(own, result, count) : steps.receive(highest, result, count);
    int turn = 0;
    const auto begin_receive = [&](int rank) {
        return steps.receive(rank, incoming[turn % 2], count, {used[turn % 2]});
    };
    const auto next_below = [&](int rank) { return rank - 1 == me ? rank - 2 : rank - 1; };
    int next = next_below(highest);
    StepId coming = next >= 0 ? begin_receive(next) : model::no_step;
    for (int rank = highest - 1; rank >= 0; --rank) {
        if (rank == me) {
            ready = steps.reduce(own, result, count, {ready});
            continue;
        }
        const auto here = coming;
        const int slot = turn++ % 2;
        next = next_below(rank);
        if (next >= 0) coming = begin_receive(next);
        ready = steps.reduce(incoming[slot], result, count, {ready, here});
        used[slot] = ready;
    }
    return {result, ready};
}

struct InOrderNode {
    int parent = -1;
    std::vector<int> children; /* of higher rank, ascending */
    bool has_left = false;     /* rank 0 hands the root all before it */
};

InOrderNode in_order_node(int rank, int root, int ranks) {
    const int base = rank >= root ? root : 0;
    const auto tree = binomial_tree(rank - base, rank >= root ? ranks - root : root);
    InOrderNode node;
    node.has_left = rank == root && root > 0;
    if (tree.parent >= 0) node.parent = base + tree.parent;
    if (tree.parent < 0 && rank != root) node.parent = root;
    for (const auto& child : tree.children) node.children.push_back(base + child.rank);
    std::reverse(node.children.begin(), node.children.end());
    return node;
}

// What is here is the left operand of what comes, so the result moves on to where that came in.
// Of three buffers one has the result and two are open for the next.
Reduced combine_children(Builder& steps, const std::vector<int>& children, std::int64_t count) {
    Reduced reduced;
    const auto number = std::min<std::size_t>(children.size(), 3);
    std::vector<Slice> buffers(number);
    for (auto& buffer : buffers) buffer = steps.scratch(count);
    std::vector<StepId> received;
    const auto begin_receive = [&](std::size_t i, StepId free) {
        received.push_back(steps.receive(children[i], buffers[i % number], count, {free}));
    };
    for (std::size_t i = 0; i < number; ++i) begin_receive(i, model::no_step);
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto to = buffers[i % number];
        reduced.ready = steps.reduce(reduced.at, to, count, {reduced.ready, received[i]});
        reduced.at = to;
        const auto next = received.size();
        if (i > 0 && next < children.size()) begin_receive(next, reduced.ready);
    }
    return reduced;
}

}  // namespace

Reduced reduce_linearly(Builder& steps, const CallShape& shape, int root, std::int64_t count) {
    if (shape.ranks == 1) return {};
    if (shape.rank != root) return {own, steps.send(root, own, count)};
    return collect_linearly(steps, shape, count);
}

Reduced reduce_over_tree(Builder& steps, const CallShape& shape, int root, std::int64_t count) {
    const auto node = in_order_node(shape.rank, root, shape.ranks);
    Slice left;
    StepId left_here = model::no_step;
    if (node.has_left) {
        left = steps.scratch(count);
        left_here = steps.receive(0, left, count);
    }
    auto reduced = combine_children(steps, node.children, count);
    if (node.has_left) {
        if (node.children.empty()) {
            reduced.at = steps.scratch(count);
            reduced.ready = steps.copy(own, reduced.at, count);
        }
        reduced.ready = steps.reduce(left, reduced.at, count, {reduced.ready, left_here});
    }
    if (node.parent >= 0) {
        reduced.ready = steps.send(node.parent, reduced.at, count, {reduced.ready});
    }
    return reduced;
}

StepId deliver(Builder& steps, const CallShape& shape, int root, const Reduced& reduced,
               std::int64_t count) {
    if (shape.rank != root) return reduced.ready;
    return steps.copy(reduced.at, {Place::receive, 0}, count, {reduced.ready});
}

namespace {

model::Schedule build_linear(const CallShape& shape) {
    Builder steps;
    const auto reduced = reduce_linearly(steps, shape, shape.root, shape.count);
    deliver(steps, shape, shape.root, reduced, shape.count);
    return steps.finish();
}

model::Schedule build_binomial(const CallShape& shape) {
    Builder steps;
    const auto reduced = reduce_over_tree(steps, shape, shape.root, shape.count);
    deliver(steps, shape, shape.root, reduced, shape.count);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm reduce_linear{
    .collective = Collective::reduce,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(a+bM+gM)",
    .needs = {},
    .build = build_linear,
    .bracketing = Bracketing::from_the_right,
};

extern constexpr Algorithm reduce_binomial{
    .collective = Collective::reduce,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "(log2(n)+1)(a+bM+gM)",
    .needs = {},
    .build = build_binomial,
};

}  // namespace lanewise::collectives
