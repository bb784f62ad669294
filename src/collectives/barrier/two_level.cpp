// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level barrier: on each host signals go up a binomial tree to its leader, the leaders run a
// dissemination barrier, and signals come down again.
// Cost, on h hosts of k ranks each: ceil(log2(h)) a between hosts and 2 ceil(log2(k)) a inside.

#include "collectives/algorithm.hpp"
#include "collectives/hosts.hpp"

namespace lanewise::collectives {
namespace {

using model::StepId;

std::vector<StepId> disseminate(model::Builder& steps, const Leaders& leaders,
                                std::vector<StepId> after) {
    const int hosts = static_cast<int>(leaders.ranks.size());
    const auto leader = [&](int number) {
        return leaders.ranks[static_cast<std::size_t>((number + hosts) % hosts)];
    };
    for (int distance = 1; distance < hosts; distance *= 2) {
        const auto here = steps.await(leader(leaders.own - distance));
        steps.signal_after(after, leader(leaders.own + distance));
        after.push_back(here);
    }
    return after;
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto place = host_tree(shape, 0);
    const auto leaders = leaders_of(shape, 0);
    std::vector<StepId> ready;
    for (const int member : place.members) ready.push_back(steps.await(member));
    if (leaders.own >= 0) {
        ready = disseminate(steps, leaders, std::move(ready));
    } else {
        const auto released = steps.await(place.parent);
        steps.signal_after(ready, place.parent);
        ready.assign(1, released);
    }
    for (const int member : place.members) steps.signal_after(ready, member);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm barrier_two_level{
    .collective = Collective::barrier,
    .name = "two_level",
    .source = "Karonis et al., IPDPS 2000",
    .cost = "ceil(log2(h))a+2ceil(log2(k))a",
    .needs = {.hosts = true},
    .build = build,
};

}  // namespace lanewise::collectives
