// SPDX-License-Identifier: BSD-3-Clause
//
// Gather over trees: a rank collects the blocks of its subtree behind its own and forwards them in
// one message.
//
// binomial: ranks follow one another from the root on. Cost: a log2(n) + b (n - 1) M.
// lmo_binomial: the large subtrees are at the ranks that forward data to the root fastest
//   according to the LMO model (rank_order.hpp). Cost: that of the same scatter, in reverse.
// knomial:k: in each round a rank receives from k - 1 others, so that there are fewer rounds than
//   in the binomial tree, which is k = 2. Cost: a logk(n) + b (n - 1) M.

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/gather/gather.hpp"
#include "collectives/knomial.hpp"
#include "collectives/scratch_bound.hpp"
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
void collect(model::Builder& steps, const CallShape& shape, const RankOrder& order,
             const Node& tree) {
    const Bounds bounds(shape, order);
    const Slice blocks{Place::receive, 0};
    std::vector<Unpacking> unpacking;
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        const int end = child->rank + child->subtree;
        auto stretches = stretches_of(shape, order, child->rank, end);
        if (stretches.empty()) continue;
        const auto count = bounds.size(child->rank, end);
        const bool together = stretches.size() == 1;
        const auto to = together ? blocks.at(stretches.front().in_buffer) : steps.scratch(count);
        const auto received = steps.receive(order.rank_at(child->rank), to, count);
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

void forward(model::Builder& steps, const CallShape& shape, const RankOrder& order,
             const Node& tree) {
    const int me = order.node_of(shape.rank);
    const Bounds bounds(shape, order);
    const auto total = bounds.size(me, me + tree.subtree);
    const bool leaf = tree.children.empty();
    const auto blocks = leaf ? Slice{Place::send, 0} : steps.scratch(total);
    std::vector<StepId> arrived;
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        arrived.push_back(steps.receive(order.rank_at(child->rank),
                                        blocks.at(bounds.size(me, child->rank)),
                                        bounds.size(child->rank, child->rank + child->subtree)));
    }
    if (!leaf) arrived.push_back(steps.copy({Place::send, 0}, blocks, bounds.size(me)));
    steps.send_after(arrived, order.rank_at(tree.parent), blocks, total);
}

}  // namespace

model::Schedule gather_over_tree(const CallShape& shape, const RankOrder& order, const Node& tree) {
    model::Builder steps;
    if (tree.parent < 0) {
        collect(steps, shape, order, tree);
    } else {
        forward(steps, shape, order, tree);
    }
    return steps.finish();
}

namespace {

model::Schedule build(const CallShape& shape) {
    return gather_over_tree(shape, plain_order(shape),
                            binomial_tree(shape.relative(), shape.ranks));
}

model::Schedule build_knomial(const CallShape& shape, int radix) {
    return gather_over_tree(shape, plain_order(shape),
                            knomial_tree(shape.relative(), shape.ranks, radix));
}

model::Schedule build_in_lmo_order(const CallShape& shape) {
    const auto order = lmo_order(shape, Direction::to_root);
    return gather_over_tree(shape, order, binomial_tree(order.node_of(shape.rank), shape.ranks));
}

}  // namespace

extern constexpr Algorithm gather_binomial{
    .collective = Collective::gather,
    .name = "binomial",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a log2(n) + b(n-1)M",
    .needs = {},
    .build = build,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm gatherv_binomial =
    vector_form(gather_binomial, Collective::gatherv, {.all_counts = true});

extern constexpr KnomialFamily gather_knomial = knomial_family<build_knomial>({
    .collective = Collective::gather,
    .name = "knomial",
    .source = "Nishtala et al., Parallel Computing 37(9), 2011",
    .cost = "a logk(n) + b(n-1)M",
    .needs = {},
    .build = nullptr,
    .scratch_units_max = all_blocks_times<1>,
});
extern constexpr Algorithm gather_knomial_3 = of_radix(gather_knomial, 3);
extern constexpr Algorithm gather_knomial_4 = of_radix(gather_knomial, 4);
extern constexpr Algorithm gather_knomial_8 = of_radix(gather_knomial, 8);

extern constexpr Algorithm gather_lmo_binomial{
    .collective = Collective::gather,
    .name = "lmo_binomial",
    .source = "Dichev, Rychkov and Lastovetsky, EuroMPI 2010",
    .cost = "at most a log2(n) + b(n-1)M of the slowest link",
    .needs = {.platform = true},
    .build = build_in_lmo_order,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm gatherv_lmo_binomial =
    vector_form(gather_lmo_binomial, Collective::gatherv, {.all_counts = true, .platform = true});

}  // namespace lanewise::collectives
