// SPDX-License-Identifier: BSD-3-Clause
//
// The list of starts, and what the starts on a global clock share.

#include <sched.h>

#include <algorithm>
#include <vector>

#include "base/statistics.hpp"
#include "measure/start/start.hpp"

namespace lanewise::measure {

std::span<const StartMethod> start_methods() {
    static constexpr StartMethod methods[] = {
        {LW_START_BARRIER, "barrier", false, barrier_start},
        {LW_START_DOUBLE_BARRIER, "double-barrier", false, double_barrier_start},
        {LW_START_WINDOW, "window", true, window_start},
        {LW_START_ROUND_TIME, "round-time", true, round_time_start},
    };
    return methods;
}

bool wait_until(const Bench& bench, double deadline_s) {
    const auto& clock = bench.global_clock();
    const bool gives_way = bench.crowded();
    if (clock.now_s() > deadline_s) return false;
    while (clock.now_s() < deadline_s) {
        if (gives_way) sched_yield();
    }
    return true;
}

double broadcast_latency_s(const Bench& bench) {
    constexpr int trials = 11;
    std::vector<double> latencies;
    for (int i = 0; i < trials; ++i) {
        bench.harness().barrier();
        double sent_s = bench.global_clock().now_s();
        bench.harness().broadcast_value(sent_s);
        latencies.push_back(bench.global_clock().now_s() - sent_s);
    }
    bench.harness().maximum(latencies);
    return std::max(median(latencies), 1e-7);
}

}  // namespace lanewise::measure
