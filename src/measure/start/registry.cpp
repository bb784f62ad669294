// SPDX-License-Identifier: BSD-3-Clause
//
// The starts, one line each, and what those on a global clock share.

#include <sched.h>

#include <algorithm>
#include <vector>

#include "base/statistics.hpp"
#include "measure/start/start.hpp"

// In the order of lw_start, which programs are compiled with: the next one goes last.
#define LANEWISE_STARTS(X)  \
    X(barrier_start)        \
    X(double_barrier_start) \
    X(window_start)         \
    X(round_time_start)     \
    /* the next one */

namespace lanewise::measure {

#define LANEWISE_DECLARE(start) extern const StartMethod start;
LANEWISE_STARTS(LANEWISE_DECLARE)
#undef LANEWISE_DECLARE

std::span<const StartMethod *const> start_methods() {
#define LANEWISE_LIST(start) &(start),
    static constexpr const StartMethod *methods[] = {LANEWISE_STARTS(LANEWISE_LIST)};
#undef LANEWISE_LIST
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
