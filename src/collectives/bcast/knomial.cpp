// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast over a k-nomial tree: who has the vector sends it to k - 1 others in a round, so that
// there are fewer rounds than in a binomial tree (k = 2). It pays off where a message is long under
// way and the sender can go on meanwhile.
//
// knomial:k: the messages of a round are under way at once. Cost: ceil(logk(n)) (a + (k - 1) bM).

#include <utility>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/knomial.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

model::Schedule build(const CallShape& shape, int radix) {
    model::Builder steps;
    const Slice vector{Place::receive, 0};
    const auto node = knomial_tree(shape.relative(), shape.ranks, radix);
    std::vector<StepId> before;
    if (node.parent >= 0) {
        before.push_back(steps.receive(shape.absolute(node.parent), vector, shape.count));
    }
    // The children of a round follow one another; the next round begins nearer.
    std::vector<StepId> round;
    int last = 0;
    for (const auto& child : node.children) {
        if (child.rank < last) before = std::exchange(round, {});
        last = child.rank;
        round.push_back(steps.send_after(before, shape.absolute(child.rank), vector, shape.count));
    }
    return steps.finish();
}

}  // namespace

extern constexpr KnomialFamily bcast_knomial = knomial_family<build>({
    .collective = Collective::bcast,
    .name = "knomial",
    .source = "Nishtala et al., Parallel Computing 37(9), 2011",
    .cost = "ceil(logk(n))(a+(k-1)bM)",
    .needs = {},
    .build = nullptr,
});
extern constexpr Algorithm bcast_knomial_3 = of_radix(bcast_knomial, 3);
extern constexpr Algorithm bcast_knomial_4 = of_radix(bcast_knomial, 4);
extern constexpr Algorithm bcast_knomial_8 = of_radix(bcast_knomial, 8);

}  // namespace lanewise::collectives
