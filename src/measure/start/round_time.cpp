// SPDX-License-Identifier: BSD-3-Clause
//
// Start by Round-Time (Hunold and Carpen-Amarie, 2018): before each repetition
// rank 0 broadcasts a deadline on the global clock and every rank spins until
// it. A late rank costs one repetition rather than a cascade of windows.
//
// The slack before the deadline adapts, since with a fixed one every repetition of
// a run was seen to be late: it grows by half after a late start, shrinks by half a
// percent after one on time, and is never less than a broadcast takes. The barrier
// before each repetition reports late starts at no further cost.

#include <algorithm>
#include <memory>

#include "measure/start/start.hpp"

namespace lanewise::measure {
namespace {

Starter make(const Bench& bench) {
    struct Rounds {
        double latency_s = 0.0;
        double slack_s = 0.0;
        bool late = false;
    };
    auto rounds = std::make_shared<Rounds>();
    rounds->latency_s = broadcast_latency_s(bench);
    rounds->slack_s = 3.0 * rounds->latency_s;

    Starter starter;
    starter.wait = [&bench, rounds] {
        const bool missed = bench.harness().any(rounds->late);
        const double wanted_s = rounds->slack_s * (missed ? 1.5 : 0.995);
        rounds->slack_s = std::max(wanted_s, rounds->latency_s);
        double deadline_s = bench.global_clock().now_s() + rounds->slack_s;
        bench.harness().broadcast_value(deadline_s);
        const bool on_time = wait_until(bench, deadline_s);
        rounds->late = !on_time;
        return on_time;
    };
    return starter;
}

}  // namespace

extern const StartMethod round_time_start{
    .name = "round-time",
    .needs_global_clock = true,
    .make = make,
};

}  // namespace lanewise::measure
