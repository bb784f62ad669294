// SPDX-License-Identifier: BSD-3-Clause
//
// Scattered neighborhood exchange: a rank has at most k receives and k sends under way. With k = 1
// it is pairwise. Cost, with d neighbors: ceil(d / k) a + dbM.
//
// All ranks take their messages in one order, in which no two of them can wait for each other: by
// how far ahead of the sender the receiver is, so that on a grid all ranks send in one direction
// and then in the next, and of several messages between two ranks the first first. Of all messages
// that have not ended, consider one that comes first in this order. Both of its ranks have
// ended all that they begin before it, so nothing keeps them from beginning it, and it ends.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "collectives/algorithm.hpp"
#include "collectives/neighbor/messages.hpp"

namespace lanewise::collectives {
namespace {

using model::StepId;

/* Which one of the messages between ranks so far apart, between the same two ranks. */
using Turn = std::pair<int, int>;

struct Planned {
    Turn turn;
    NeighborMessage message;
};

template <typename Distance>
std::vector<Planned> in_order(const std::vector<NeighborMessage>& messages,
                              const Distance& distance) {
    std::vector<Planned> planned;
    for (const auto& one : messages) planned.push_back({{distance(one.peer), 0}, one});
    std::ranges::stable_sort(planned, {}, [](const Planned& one) { return one.turn.first; });
    for (std::size_t i = 1; i < planned.size(); ++i) {
        const auto& before = planned[i - 1].turn;
        auto& turn = planned[i].turn;
        if (turn.first == before.first) turn.second = before.second + 1;
    }
    return planned;
}

template <std::size_t window>
model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto all = messages_to_others(steps, shape);
    const auto received = in_order(all.received, [&](int source) { return (me - source + n) % n; });
    const auto sent =
        in_order(all.sent, [&](int destination) { return (destination - me + n) % n; });
    std::array<StepId, window> receives{};
    std::array<StepId, window> sends{};
    receives.fill(model::no_step);
    sends.fill(model::no_step);
    std::size_t in = 0;
    std::size_t out = 0;
    while (in < received.size() || out < sent.size()) {
        const bool receive =
            out == sent.size() || (in < received.size() && received[in].turn <= sent[out].turn);
        const auto& one = (receive ? received[in] : sent[out]).message;
        auto& step = receive ? receives[in++ % window] : sends[out++ % window];
        step = receive ? steps.receive(one.peer, one.data, one.count, {step})
                       : steps.send(one.peer, one.data, one.count, {step});
    }
    return steps.finish();
}

template <std::size_t window>
constexpr Algorithm scattered(Collective collective) {
    const char *name = window == 1 ? "pairwise" : window == 4 ? "scattered:4" : "scattered:16";
    return {
        .collective = collective,
        .name = name,
        .source = "Fan, Petruzza, Gilray and Kumar, 2024 (TuNA), section 2",
        .cost = "ceil(d/k)a+dbM",
        .needs = {.single_edges = !sends_one_block(collective)},
        .build = build<window>,
        .radix = static_cast<int>(window) + 1,
    };
}

}  // namespace

#define LANEWISE_SCATTERED(collective)                                                          \
    extern constexpr Algorithm collective##_pairwise = scattered<1>(Collective::collective);    \
    extern constexpr Algorithm collective##_scattered_4 = scattered<4>(Collective::collective); \
    extern constexpr Algorithm collective##_scattered_16 = scattered<16>(Collective::collective);

LANEWISE_SCATTERED(neighbor_allgather)
LANEWISE_SCATTERED(neighbor_allgatherv)
LANEWISE_SCATTERED(neighbor_alltoall)
LANEWISE_SCATTERED(neighbor_alltoallv)
LANEWISE_SCATTERED(neighbor_alltoallw)

}  // namespace lanewise::collectives
