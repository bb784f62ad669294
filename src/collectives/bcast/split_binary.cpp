// SPDX-License-Identifier: BSD-3-Clause
//
// Split binary broadcast: the root sends half of the vector down each of two
// binary trees, in segments, and then each rank of one tree exchanges halves
// with its counterpart in the other. With an even number of ranks one is left
// without counterpart and has its other half from the root.
// Cost, with S segments a half: (log2(n) + S)(2a + b M/S) + a + b M/2.

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Slice;
using model::StepId;

constexpr std::int64_t segment_bytes = std::int64_t{32} * 1024;

struct Half {
    Slice at;
    std::int64_t count = 0;
};

// Tree 0 has the relative ranks 1, 3, 5, ..., tree 1 has 2, 4, 6, ...; the root is above both.
int rank_in(int tree, int member) {
    return 1 + tree + 2 * member;
}

Node node_in(int tree, const CallShape& shape) {
    const int members = (shape.ranks - tree) / 2;
    Node node;
    if (shape.is_root()) {
        if (members > 0) node.children.push_back({rank_in(tree, 0), members});
        return node;
    }
    node = binary_tree((shape.relative() - 1 - tree) / 2, members);
    node.parent = node.parent < 0 ? 0 : rank_in(tree, node.parent);
    for (auto& child : node.children) child.rank = rank_in(tree, child.rank);
    return node;
}

std::vector<StepId> hand_down(model::Builder& steps, const CallShape& shape, int tree,
                              const Half& half) {
    const auto pieces = segments_of(shape, half.count, segment_bytes);
    return bcast_over_tree(steps, shape, node_in(tree, shape), pieces, half.at);
}

void serve(model::Builder& steps, const CallShape& shape, const Half (&halves)[2]) {
    for (const int tree : {0, 1}) hand_down(steps, shape, tree, halves[tree]);
    const bool one_alone = shape.ranks % 2 == 0;
    if (one_alone) steps.send(shape.absolute(shape.ranks - 1), halves[1].at, halves[1].count);
}

void take_part(model::Builder& steps, const CallShape& shape, const Half (&halves)[2]) {
    const int me = shape.relative();
    const int tree = (me - 1) % 2;
    const auto& own = halves[tree];
    const auto& other = halves[1 - tree];
    const int counterpart = tree == 0 ? me + 1 : me - 1;
    if (counterpart == shape.ranks) {
        hand_down(steps, shape, tree, own);
        steps.receive(shape.root, other.at, other.count);
        return;
    }
    steps.receive(shape.absolute(counterpart), other.at, other.count);
    const auto arrived = hand_down(steps, shape, tree, own);
    steps.send_after(arrived, shape.absolute(counterpart), own.at, own.count);
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto first = shape.count - shape.count / 2;
    const Slice vector{model::Place::receive, 0};
    const Half halves[2] = {{vector, first}, {vector.at(first), shape.count - first}};
    if (shape.is_root()) {
        serve(steps, shape, halves);
    } else {
        take_part(steps, shape, halves);
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_split_binary{
    .collective = Collective::bcast,
    .name = "split_binary",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(log2(n)+S)(2a+bM/S) + a + bM/2",
    .needs = {.segmented = true},
    .build = build,
};

}  // namespace lanewise::collectives
