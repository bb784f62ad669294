// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast over a tree: a rank receives the vector from its parent and sends it to its children.
//
// binomial: each round doubles the ranks that have the vector. Cost: ceil(log2(n)) (a + bM).
// chain: each rank sends the whole vector to the next; the yardstick of a pipeline.
//   Cost: (n - 1)(a + bM).
// pipeline: a chain in which every rank forwards each of S segments as soon as it arrives.
//   Cost: (n - 2 + S)(a + b M/S).
// linear: the root sends to one rank after the other. Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"
#include "collectives/bcast/over_tree.hpp"

namespace lanewise::collectives {

using model::StepId;

std::vector<StepId> bcast_over_tree(model::Builder& steps, const CallShape& shape, const Node& node,
                                    const Pieces& pieces, model::Slice vector, StepId ready) {
    std::vector<StepId> arrived(static_cast<std::size_t>(pieces.number()), ready);
    int piece = 0;
    for (auto& here : arrived) {
        if (node.parent >= 0) {
            here = steps.receive(shape.absolute(node.parent), vector.at(pieces.begin(piece)),
                                 pieces.size(piece), {ready});
        }
        ++piece;
    }
    // A vector in one piece goes to one child after the other, so that the first has it early.
    // Pieces are short enough to be started at once, which keeps the link busy.
    StepId last = model::no_step;
    for (int i = 0; i < pieces.number(); ++i) {
        for (const auto& child : node.children) {
            const auto sent =
                steps.send(shape.absolute(child.rank), vector.at(pieces.begin(i)), pieces.size(i),
                           {arrived[static_cast<std::size_t>(i)], last});
            if (pieces.number() == 1) last = sent;
        }
    }
    return arrived;
}

namespace {

constexpr std::int64_t segment_bytes = std::int64_t{32} * 1024;

model::Schedule build(const CallShape& shape, const Node& node, const Pieces& pieces) {
    model::Builder steps;
    bcast_over_tree(steps, shape, node, pieces);
    return steps.finish();
}

model::Schedule build_binomial(const CallShape& shape) {
    return build(shape, binomial_tree(shape.relative(), shape.ranks), whole(shape.count));
}

model::Schedule build_chain(const CallShape& shape) {
    return build(shape, chain_tree(shape.relative(), shape.ranks), whole(shape.count));
}

model::Schedule build_pipeline(const CallShape& shape) {
    return build(shape, chain_tree(shape.relative(), shape.ranks),
                 segments_of(shape, shape.count, segment_bytes));
}

model::Schedule build_linear(const CallShape& shape) {
    return build(shape, star_tree(shape.relative(), shape.ranks), whole(shape.count));
}

}  // namespace

extern constexpr Algorithm bcast_binomial{
    .collective = Collective::bcast,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "ceil(log2(n))(a+bM)",
    .needs = {},
    .build = build_binomial,
};

extern constexpr Algorithm bcast_chain{
    .collective = Collective::bcast,
    .name = "chain",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build_chain,
};

extern constexpr Algorithm bcast_pipeline{
    .collective = Collective::bcast,
    .name = "pipeline",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-2+S)(a+bM/S)",
    .needs = {.segmented = true},
    .build = build_pipeline,
};

extern constexpr Algorithm bcast_linear{
    .collective = Collective::bcast,
    .name = "linear",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build_linear,
};

}  // namespace lanewise::collectives
