// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking reductions: whoever gets the result gets the vectors of all ranks at once, and
// combines them by itself. More bytes move than by other algorithms, but no message waits for
// another. Cost, with g the time to combine a byte: a + (n - 1)(bM + gM).

#include "collectives/algorithm.hpp"
#include "collectives/combine_here.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build_reduce(const CallShape& shape) {
    if (!shape.is_root()) return combine_here(shape, {shape.root}, 0);
    return combine_here(shape, {}, shape.ranks);
}

model::Schedule build_allreduce(const CallShape& shape) {
    // Nearest first, so that no rank is the first or the last one of all others.
    std::vector<int> others;
    for (int distance = 1; distance < shape.ranks; ++distance) {
        others.push_back((shape.rank + distance) % shape.ranks);
    }
    return combine_here(shape, others, shape.ranks);
}

}  // namespace

extern constexpr Algorithm reduce_linear_nb{
    .collective = Collective::reduce,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)(b+g)M",
    .needs = {},
    .build = build_reduce,
    .scratch_units_max = vector_of_all_ranks,
    .posts_at_once = true,
    .bracketing = Bracketing::balanced,
};

extern constexpr Algorithm allreduce_linear_nb{
    .collective = Collective::allreduce,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)(b+g)M",
    .needs = {},
    .build = build_allreduce,
    .scratch_units_max = vector_of_all_ranks,
    .posts_at_once = true,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
