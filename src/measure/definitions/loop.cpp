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

// The shortest of several series: an interruption must not make the loop itself shorter. A single
// call before them says for how many there is room; all ranks know the same times, and agree.
template <typename Execute>
Probed probe_calls(const Harness& harness, Execute execute, int root, double room_s) {
    constexpr int series = 5;
    constexpr Calls usual{.warm_up = 5, .timed = 20};
    constexpr Loop plain{};
    const auto single = times_of(harness, execute, plain, {}, 1, root);
    Probed probed{single.most_s.front(), single.failed};
    double spent_s = probed.call_s;
    double shortest_s = std::numeric_limits<double>::infinity();
    for (int i = 0; i < series && !probed.failed; ++i) {
        auto calls = usual;
        const double left_s = room_s - spent_s;
        if (room_s > 0.0 && probed.call_s * (calls.warm_up + calls.timed) > left_s)
            calls = {.warm_up = 0,
                     .timed = static_cast<std::uint32_t>(std::max(0.0, left_s / probed.call_s))};
        if (calls.timed == 0) break;
        const auto times = times_of(harness, execute, plain, calls, 1, root);
        spent_s += times.most_s.front() * (calls.warm_up + calls.timed);
        shortest_s = std::min(shortest_s, times.most_s.front());
        probed = {shortest_s, times.failed};
    }
    return probed;
}

}  // namespace

LoopTimes run_loop(const Harness& harness, Running& running, const Loop& loop, Calls calls,
                   std::size_t count) {
    if (loop.overlaps) return run_overlap(harness, running, loop, calls, count);
    return times_of(
        harness, [&running] { return running.execute(); }, loop, calls, count, running.root());
}

Probed probe(const Harness& harness, Running& running, const Loop& loop, double room_s) {
    auto& exchange = running.exchange();
    if (loop.overlaps)
        return probe_calls(
            harness, [&exchange] { return start_and_wait(exchange); }, running.root(), room_s);
    return probe_calls(
        harness, [&running] { return running.execute(); }, running.root(), room_s);
}

}  // namespace lanewise::measure
