// SPDX-License-Identifier: BSD-3-Clause
//
// Scatter over trees: a rank receives the blocks of its subtree in one message, keeps its own and
// sends those of its children on, the largest first.
//
// binomial: ranks follow one another from the root on. Cost: a log2(n) + b (n - 1) M.
// lmo_binomial: the large subtrees are at the ranks that receive and forward data fastest
//   according to the LMO model (rank_order.hpp).
//   Cost: T(r) = C + Mk t + max(T(rest of r), L + C' + Mk (1/beta + t') + T(child)).
// knomial:k: in each round a rank sends to k - 1 others at once, so that there are fewer rounds
//   than in the binomial tree, which is k = 2. Cost: a logk(n) + b (n - 1) M.

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/knomial.hpp"
#include "collectives/scatter/scatter.hpp"
#include "collectives/scratch_bound.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

void send_from_root(model::Builder& steps, const CallShape& shape, const RankOrder& order,
                    Slice blocks, StepId ready, const Node& tree, Posting posting) {
    const Bounds bounds(shape, order);
    StepId last = model::no_step;
    for (const auto& child : tree.children) {
        const int end = child.rank + child.subtree;
        const auto stretches = stretches_of(shape, order, child.rank, end);
        const auto packed = packed_blocks(steps, stretches, blocks, ready);
        const auto sent = steps.send(order.rank_at(child.rank), packed.at,
                                     bounds.size(child.rank, end), {packed.ready, last});
        if (posting == Posting::one_by_one) last = sent;
    }
    steps.copy(blocks.at(shape.offset_of(shape.root)), {Place::receive, 0},
               shape.count_of(shape.root), {ready});
}

void forward(model::Builder& steps, const CallShape& shape, const RankOrder& order,
             const Node& tree, Posting posting) {
    const int me = order.node_of(shape.rank);
    const Bounds bounds(shape, order);
    const auto total = bounds.size(me, me + tree.subtree);
    const bool leaf = tree.children.empty();
    const auto blocks = leaf ? Slice{Place::receive, 0} : steps.scratch(total);
    const auto ready = steps.receive(order.rank_at(tree.parent), blocks, total);
    StepId last = model::no_step;
    for (const auto& child : tree.children) {
        const auto sent =
            steps.send(order.rank_at(child.rank), blocks.at(bounds.size(me, child.rank)),
                       bounds.size(child.rank, child.rank + child.subtree), {ready, last});
        if (posting == Posting::one_by_one) last = sent;
    }
    if (!leaf) steps.copy(blocks, {Place::receive, 0}, bounds.size(me), {ready});
}

}  // namespace

void scatter_over_tree(model::Builder& steps, const CallShape& shape, const RankOrder& order,
                       Slice blocks, StepId ready, const Node& tree, Posting posting) {
    if (tree.parent < 0) {
        send_from_root(steps, shape, order, blocks, ready, tree, posting);
    } else {
        forward(steps, shape, order, tree, posting);
    }
}

namespace {

model::Schedule scattered(const CallShape& shape, const RankOrder& order, const Node& tree,
                          Posting posting) {
    model::Builder steps;
    scatter_over_tree(steps, shape, order, {Place::send, 0}, model::no_step, tree, posting);
    return steps.finish();
}

model::Schedule build(const CallShape& shape) {
    return scattered(shape, plain_order(shape), binomial_tree(shape.relative(), shape.ranks),
                     Posting::one_by_one);
}

model::Schedule build_knomial(const CallShape& shape, int radix) {
    return scattered(shape, plain_order(shape), knomial_tree(shape.relative(), shape.ranks, radix),
                     Posting::at_once);
}

model::Schedule build_in_lmo_order(const CallShape& shape) {
    const auto order = lmo_order(shape, Direction::from_root);
    return scattered(shape, order, binomial_tree(order.node_of(shape.rank), shape.ranks),
                     Posting::one_by_one);
}

}  // namespace

extern constexpr Algorithm scatter_binomial{
    .collective = Collective::scatter,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a log2(n) + b(n-1)M",
    .needs = {},
    .build = build,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm scatterv_binomial =
    vector_form(scatter_binomial, Collective::scatterv, {.all_counts = true});

extern constexpr KnomialFamily scatter_knomial = knomial_family<build_knomial>({
    .collective = Collective::scatter,
    .name = "knomial",
    .source = "Nishtala et al., Parallel Computing 37(9), 2011",
    .cost = "a logk(n) + b(n-1)M",
    .needs = {},
    .build = nullptr,
    .scratch_units_max = all_blocks_times<1>,
});
extern constexpr Algorithm scatter_knomial_3 = of_radix(scatter_knomial, 3);
extern constexpr Algorithm scatter_knomial_4 = of_radix(scatter_knomial, 4);
extern constexpr Algorithm scatter_knomial_8 = of_radix(scatter_knomial, 8);

extern constexpr Algorithm scatter_lmo_binomial{
    .collective = Collective::scatter,
    .name = "lmo_binomial",
    .source = "Dichev, Rychkov and Lastovetsky, EuroMPI 2010",
    .cost = "at most a log2(n) + b(n-1)M of the slowest link",
    .needs = {.platform = true},
    .build = build_in_lmo_order,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm scatterv_lmo_binomial =
    vector_form(scatter_lmo_binomial, Collective::scatterv, {.all_counts = true, .platform = true});

}  // namespace lanewise::collectives
