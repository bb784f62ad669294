// SPDX-License-Identifier: BSD-3-Clause
//
// Scatter-allgather broadcast: a binomial scatter, then an allgather whose
// distance doubles, for any number of ranks: in a round of distance d each rank
// receives the d blocks that follow its own d. Where these run past the end of
// the vector they are two messages; blocks that a rank holds from the scatter
// are not sent to it again.
// Cost: 2 log2(n) a + 2 (n - 1)/n bM.

#include "collectives/algorithm.hpp"
#include "collectives/bcast/in_blocks.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

struct Run {
    int begin = 0;
    int end = 0;
};

// What `rank` receives in the round of this distance, as runs of blocks that do not wrap.
std::vector<Run> missing(const CallShape& shape, int rank, int distance) {
    const int n = shape.ranks;
    const int held = std::max(distance, binomial_subtree(rank, n));
    const int begin = rank + held;
    const int end = rank + std::min(2 * distance, n);
    if (begin >= end) return {};
    if (end <= n) return {{begin, end}};
    if (begin >= n) return {{begin - n, end - n}};
    return {{begin, n}, {0, end - n}};
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const model::Slice vector{model::Place::receive, 0};
    const int n = shape.ranks;
    const int me = shape.relative();
    const auto scattered = scatter_vector(steps, shape);
    const auto& bounds = scattered.bounds;
    std::vector<std::vector<model::StepId>> received;
    for (int distance = 1; distance < n; distance *= 2) {
        auto& round = received.emplace_back();
        for (const auto& [begin, end] : missing(shape, me, distance)) {
            round.push_back(steps.receive(shape.absolute(me + distance), vector.at(bounds[begin]),
                                          bounds.size(begin, end)));
        }
    }
    std::vector<model::StepId> here{scattered.arrived};
    auto round = received.begin();
    for (int distance = 1; distance < n; distance *= 2) {
        const int peer = (me - distance + n) % n;
        for (const auto& [begin, end] : missing(shape, peer, distance)) {
            steps.send_after(here, shape.absolute(peer), vector.at(bounds[begin]),
                             bounds.size(begin, end));
        }
        here.insert(here.end(), round->begin(), round->end());
        ++round;
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_scatter_allgather{
    .collective = Collective::bcast,
    .name = "scatter_allgather",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
    .cost = "2 log2(n) a + 2(n-1)/n bM",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
