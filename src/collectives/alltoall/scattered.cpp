// SPDX-License-Identifier: BSD-3-Clause
//
// Scattered alltoall(v, w): a rank exchanges blocks with the ranks 1, 2, 3, ... ahead and behind,
// as linear_nb does, but has at most k receives and k sends under way: the message to the rank so
// far ahead is begun when that to the rank k less far has ended. Many ranks at once therefore do
// not flood a link or a receiver. Cost: ceil((n - 1) / k) a + (n - 1) bM.

#include <array>
#include <cstddef>

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::StepId;

template <std::size_t window>
model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    std::array<StepId, window> received{};
    std::array<StepId, window> sent{};
    received.fill(model::no_step);
    sent.fill(model::no_step);
    steps.copy({Place::send, shape.send_offset_of(me)}, {Place::receive, shape.offset_of(me)},
               shape.count_of(me));
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        const int to = (me + distance) % n;
        auto& incoming = received[static_cast<std::size_t>(distance) % window];
        auto& outgoing = sent[static_cast<std::size_t>(distance) % window];
        const auto before = {incoming, outgoing};
        incoming = steps.receive(from, {Place::receive, shape.offset_of(from)},
                                 shape.count_of(from), before);
        outgoing = steps.send(to, {Place::send, shape.send_offset_of(to)}, shape.send_count_of(to),
                              before);
    }
    return steps.finish();
}

template <std::size_t window>
constexpr Algorithm scattered(Collective collective, const char *name) {
    return {
        .collective = collective,
        .name = name,
        .source = "Fan, Petruzza, Gilray and Kumar, 2024 (TuNA), section 2",
        .cost = "ceil((n-1)/k)a+(n-1)bM",
        .needs = {},
        .build = build<window>,
        .radix = static_cast<int>(window) + 1,
    };
}

}  // namespace

extern constexpr Algorithm alltoallv_scattered_4 =
    scattered<4>(Collective::alltoallv, "scattered:4");
extern constexpr Algorithm alltoallv_scattered_16 =
    scattered<16>(Collective::alltoallv, "scattered:16");
extern constexpr Algorithm alltoallw_scattered_4 =
    scattered<4>(Collective::alltoallw, "scattered:4");
extern constexpr Algorithm alltoallw_scattered_16 =
    scattered<16>(Collective::alltoallw, "scattered:16");

}  // namespace lanewise::collectives
