// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking neighborhood exchange: every rank begins all its messages at once.
// Cost, with d neighbors: a + dbM, and an overhead a message.

#include "collectives/algorithm.hpp"
#include "collectives/neighbor/messages.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto all = messages_to_others(steps, shape);
    for (const auto& one : all.received) steps.receive(one.peer, one.data, one.count);
    for (const auto& one : all.sent) steps.send(one.peer, one.data, one.count);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm neighbor_allgather_linear_nb{
    .collective = Collective::neighbor_allgather,
    .name = "linear_nb",
    .source = "MPI Forum, MPI 4.1, section 8.6",
    .cost = "a+dbM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};
extern constexpr Algorithm neighbor_allgatherv_linear_nb =
    vector_form(neighbor_allgather_linear_nb, Collective::neighbor_allgatherv, {});
extern constexpr Algorithm neighbor_alltoall_linear_nb = vector_form(
    neighbor_allgather_linear_nb, Collective::neighbor_alltoall, {.single_edges = true});
extern constexpr Algorithm neighbor_alltoallv_linear_nb = vector_form(
    neighbor_allgather_linear_nb, Collective::neighbor_alltoallv, {.single_edges = true});
extern constexpr Algorithm neighbor_alltoallw_linear_nb = vector_form(
    neighbor_allgather_linear_nb, Collective::neighbor_alltoallw, {.single_edges = true});

}  // namespace lanewise::collectives
