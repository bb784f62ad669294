// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of another tool, and which number it makes of those of all ranks.

#include <algorithm>
#include <limits>
#include <numeric>

#include "measure/definitions/clocked.hpp"
#include "measure/definitions/overlap.hpp"

namespace lanewise::measure {
namespace {

// This rank's mean of one call, in the shortest of the series.
template <typename Body>
double mean_s(const Harness& harness, Body& body, const Loop& loop, Calls calls) {
    double shortest_s = std::numeric_limits<double>::infinity();
    for (int series = 0; series < loop.series; ++series) {
        check(MPI_Barrier(harness.comm()));
        for (std::uint32_t i = 0; i < calls.warm_up; ++i) {
            body.call();
            body.meet();
        }
        const double total_s = clocked(body, loop.clocked, calls.timed);
        shortest_s = std::min(shortest_s, total_s / calls.timed);
    }
    return shortest_s;
}

double shown_s(std::span<const double> ranks_s, Across across, int root) {
    if (across == Across::first) return ranks_s[static_cast<std::size_t>(root)];
    if (across == Across::slowest) return *std::max_element(ranks_s.begin(), ranks_s.end());
    const auto those = across == Across::senders ? ranks_s.first(ranks_s.size() / 2) : ranks_s;
    return std::accumulate(those.begin(), those.end(), 0.0) / static_cast<double>(those.size());
}

template <typename Execute>
LoopTimes times_of(const Harness& harness, Execute execute, const Loop& loop, Calls calls,
                   std::size_t count, int root) {
    Body<Execute> body{execute, harness.comm(), loop.meets};
    std::vector<double> own_s;
    for (std::size_t i = 0; i < count; ++i) own_s.push_back(mean_s(harness, body, loop, calls));
    LoopTimes times;
    times.failed = harness.any(body.failed);
    const auto all_s = harness.collect(own_s);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> ranks_s;
        for (const auto& rank_s : all_s) ranks_s.push_back(rank_s[i]);
        const auto [least, most] = std::minmax_element(ranks_s.begin(), ranks_s.end());
        times.least_s.push_back(*least);
        times.most_s.push_back(*most);
        times.shown_s.push_back(shown_s(ranks_s, loop.across, root));
    }
    return times;
}

}  // namespace

LoopTimes run_loop(const Harness& harness, Running& running, const Loop& loop, Calls calls,
                   std::size_t count) {
    if (loop.overlaps) return run_overlap(harness, running, loop, calls, count);
    return times_of(
        harness, [&running] { return running.execute(); }, loop, calls, count, running.root());
}

LoopTimes probe(const Harness& harness, Running& running, const Loop& loop) {
    // The shortest of several: an interruption must not make the loop itself shorter.
    constexpr Loop probing{.series = 5};
    constexpr Calls calls{.warm_up = 5, .timed = 20};
    if (!loop.overlaps) return run_loop(harness, running, probing, calls, 1);
    auto& exchange = running.exchange();
    return times_of(
        harness, [&exchange] { return start_and_wait(exchange); }, probing, calls, 1,
        running.root());
}

}  // namespace lanewise::measure
