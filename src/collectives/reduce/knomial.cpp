// SPDX-License-Identifier: BSD-3-Clause
//
// Reduction over a k-nomial tree, for operators that commute, since ranks count from the root.
//
// knomial:k: in each round a rank receives the vectors of k - 1 others at once and combines them
//   one after the other, so that there are fewer rounds than in a binomial tree (k = 2).
//   Cost, with g the time to combine a byte: ceil(logk(n)) (a + (k - 1)(bM + gM)).

#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/knomial.hpp"
#include "collectives/reduce/in_order.hpp"
#include "collectives/scratch_bound.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape, int radix) {
    model::Builder steps;
    const auto node = knomial_tree(shape.relative(), shape.ranks, radix);
    // The smallest subtrees are complete first.
    std::vector<int> children;
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
        children.push_back(shape.absolute(child->rank));
    }
    auto reduced = combine_children(steps, shape.rank, children, shape.count);
    if (node.parent >= 0) {
        reduced.ready =
            steps.send(shape.absolute(node.parent), reduced.at, shape.count, {reduced.ready});
    }
    deliver(steps, shape, shape.root, reduced, shape.count);
    return steps.finish();
}

}  // namespace

extern constexpr KnomialFamily reduce_knomial = knomial_family<build>({
    .collective = Collective::reduce,
    .name = "knomial",
    .source = "Nishtala et al., Parallel Computing 37(9), 2011",
    .cost = "ceil(logk(n))(a+(k-1)(bM+gM))",
    .needs = {.commutative = true},
    .build = nullptr,
    .scratch_units_max = vector_times<4>,
});
extern constexpr Algorithm reduce_knomial_3 = of_radix(reduce_knomial, 3);
extern constexpr Algorithm reduce_knomial_4 = of_radix(reduce_knomial, 4);
extern constexpr Algorithm reduce_knomial_8 = of_radix(reduce_knomial, 8);

}  // namespace lanewise::collectives
