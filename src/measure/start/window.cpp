// SPDX-License-Identifier: BSD-3-Clause
//
// Start by windows: repetition i begins at start + i W on the global clock
// (SKaMPI). A rank that finds its window already begun is late, and the repetition
// is dropped. W is at first three times the length of a repetition, and doubles
// after a batch in which more than a quarter of the repetitions were late.

#include <algorithm>
#include <memory>

#include "measure/start/start.hpp"

namespace lanewise::measure {
namespace {

Starter make(const Bench& bench) {
    struct Windows {
        double latency_s = 0.0;
        double width_s = 0.0;
        double next_s = 0.0;
        double stretch = 3.0;
    };
    auto windows = std::make_shared<Windows>();
    windows->latency_s = broadcast_latency_s(bench);

    Starter starter;
    starter.begin_batch = [&bench, windows](double execution_s) {
        windows->width_s = windows->stretch * (execution_s + windows->latency_s);
        windows->next_s =
            bench.global_clock().now_s() + 10.0 * windows->latency_s + windows->width_s;
        bench.harness().broadcast_value(windows->next_s);
    };
    starter.wait = [&bench, windows] {
        const double start_s = windows->next_s;
        windows->next_s += windows->width_s;
        return wait_until(bench, start_s);
    };
    starter.end_batch = [windows](std::size_t late_count, std::size_t count) {
        if (4 * late_count > count) windows->stretch *= 2.0;
    };
    return starter;
}

}  // namespace

extern const StartMethod window_start{
    .name = "window",
    .needs_global_clock = true,
    .make = make,
};

}  // namespace lanewise::measure
