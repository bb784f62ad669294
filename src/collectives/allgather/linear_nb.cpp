// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking allgather: every rank sends its block to every other, all at once.
// Cost: a + (n - 1) bM, and an overhead a message.

#include "collectives/algorithm.hpp"
#include "collectives/linear_exchange.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    return exchange_at_once(shape, Sent::one_block);
}

}  // namespace

extern constexpr Algorithm allgather_linear_nb{
    .collective = Collective::allgather,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};
extern constexpr Algorithm allgatherv_linear_nb =
    vector_form(allgather_linear_nb, Collective::allgatherv, {});

}  // namespace lanewise::collectives
