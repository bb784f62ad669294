// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions of whole vectors in rank order, for any root.
//
// Cost, with g the time to combine a byte:
// linear: the root receives from one rank after the other, the highest first. (n - 1)(a + bM + gM).
// binomial: neighbours are combined, then their results, and so on (bracketing.hpp); each pair at
//   the rank that is nearer to the root in the tree. log2(n) (a + bM + gM).

#include "collectives/reduce/in_order.hpp"

#include <algorithm>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/reduce/partial.hpp"
#include "collectives/scratch_bound.hpp"

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

// Whom a node takes from, in the order of the rounds, and whom it gives to in the last. In the
// round of distance d neighbouring groups of d nodes are combined; a group is represented by the
// node that has the place in it that the root has in its own.
struct TreeNode {
    int parent = -1;
    std::vector<int> children;
};

TreeNode tree_node(const Folding& folding, int rank, int root) {
    TreeNode node;
    if (folding.in_pair(rank)) node.children.push_back(folding.partner(rank));
    const int own_number = folding.node_of(rank);
    const int differs = own_number ^ folding.node_of(root);
    for (int bit = 1; bit < folding.nodes; bit *= 2) {
        const int peer = folding.rank_at(own_number ^ bit);
        if ((differs & bit) != 0) {
            node.parent = peer;
            return node;
        }
        node.children.push_back(peer);
    }
    return node;
}

struct Buffer {
    Slice at;
    StepId free = model::no_step; /* when it may be written to */
};

// Where what comes is the right operand, the result moves on to where that came in. Of three
// buffers one has the result and two are open for the next.
class Collected {
  public:
    Collected(Builder& steps, int rank, const std::vector<int>& children, std::int64_t count)
        : steps_(steps), rank_(rank), children_(children), count_(count) {
        for (std::size_t i = 0; i < std::min<std::size_t>(children.size(), 3); ++i) {
            open_.push_back({steps.scratch(count)});
        }
        begin_receives();
    }

    Reduced combine_all() {
        for (std::size_t i = 0; i < children_.size(); ++i) {
            if (rank_ < children_[i]) {
                take_right(coming_[i]);
            } else {
                take_left(coming_[i]);
            }
            begin_receives();
        }
        return reduced_;
    }

  private:
    struct Coming {
        Slice at;
        StepId here = model::no_step;
    };

    void begin_receives() {
        while (coming_.size() < children_.size() && !open_.empty()) {
            const auto buffer = open_.back();
            open_.pop_back();
            const auto here =
                steps_.receive(children_[coming_.size()], buffer.at, count_, {buffer.free});
            coming_.push_back({buffer.at, here});
        }
    }

    void take_right(const Coming& right) {
        const auto before = reduced_.at;
        reduced_.ready = steps_.reduce(before, right.at, count_, {reduced_.ready, right.here});
        reduced_.at = right.at;
        if (before.place == Place::scratch) open_.push_back({before, reduced_.ready});
    }

    void take_left(const Coming& left) {
        if (reduced_.at.place == Place::send) {
            reduced_.at = steps_.scratch(count_);
            reduced_.ready = steps_.copy(own, reduced_.at, count_);
        }
        reduced_.ready = steps_.reduce(left.at, reduced_.at, count_, {reduced_.ready, left.here});
        open_.push_back({left.at, reduced_.ready});
    }

    Builder& steps_;
    int rank_;
    const std::vector<int>& children_;
    std::int64_t count_;
    std::vector<Buffer> open_;
    std::vector<Coming> coming_; /* by child */
    Reduced reduced_;
};

}  // namespace

Reduced combine_children(Builder& steps, int rank, const std::vector<int>& children,
                         std::int64_t count) {
    return Collected(steps, rank, children, count).combine_all();
}

Reduced reduce_linearly(Builder& steps, const CallShape& shape, int root, std::int64_t count) {
    if (shape.ranks == 1) return {};
    if (shape.rank != root) return {own, steps.send(root, own, count)};
    return collect_linearly(steps, shape, count);
}

Reduced reduce_over_tree(Builder& steps, const CallShape& shape, int root, std::int64_t count) {
    const Folding folding(shape.ranks, root);
    if (!folding.is_node(shape.rank)) {
        return {own, steps.send(folding.partner(shape.rank), own, count)};
    }
    const auto node = tree_node(folding, shape.rank, root);
    auto reduced = combine_children(steps, shape.rank, node.children, count);
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
    .scratch_units_max = vector_times<3>,
    .bracketing = Bracketing::from_the_right,
};

extern constexpr Algorithm reduce_binomial{
    .collective = Collective::reduce,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "log2(n)(a+bM+gM)",
    .needs = {},
    .build = build_binomial,
    .scratch_units_max = vector_times<4>,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
