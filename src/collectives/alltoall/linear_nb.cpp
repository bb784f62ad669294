// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking alltoall(v, w): every rank begins all its messages at once.
// Cost: a + (n - 1) bM, and an overhead a message.

#include "collectives/algorithm.hpp"
#include "collectives/linear_exchange.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    return exchange_at_once(shape, Sent::block_for_each);
}

}  // namespace

extern constexpr Algorithm alltoall_linear_nb{
    .collective = Collective::alltoall,
    .name = "linear_nb",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};
extern constexpr Algorithm alltoallv_linear_nb =
    vector_form(alltoall_linear_nb, Collective::alltoallv, {});
extern constexpr Algorithm alltoallw_linear_nb =
    vector_form(alltoall_linear_nb, Collective::alltoallw, {});

}  // namespace lanewise::collectives
