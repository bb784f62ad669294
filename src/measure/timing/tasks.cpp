// SPDX-License-Identifier: BSD-3-Clause
//
// Individual tasks: the time of the operation for one rank at a time, by the root's
// clock alone (de Supinski and Karonis, HPDC 1999; MPIBlib 2008, section 2.1). For
// broadcast and scatter, the root executes the operation, waits for an
// acknowledgement from rank i, and subtracts the one-way time of the
// acknowledgement. Gather is the reverse: rank i alone waits until the root tells it
// to begin, and the one-way time of that message is subtracted. The acknowledgement
// keeps successive executions from overlapping. The longest task is the time of the
// operation; one repetition is one sweep over i.

#include <algorithm>
#include <limits>

#include "base/statistics.hpp"
#include "measure/timing/timing.hpp"

namespace lanewise::measure {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

// Half the median round trip of an empty message between the root and `peer`; on the root.
double one_way_s(const Bench& bench, int root, int peer) {
    constexpr int trials = 21;
    const auto& harness = bench.harness();
    std::vector<double> trips;
    for (int i = 0; i < trials; ++i) {
        if (harness.rank() == root) {
            const double begin_s = bench.clock().now_s();
            harness.send_value('?', peer);
            harness.receive_value<char>(peer);
            trips.push_back(bench.clock().now_s() - begin_s);
        } else if (harness.rank() == peer) {
            harness.receive_value<char>(root);
            harness.send_value('!', root);
        }
    }
    return trips.empty() ? 0.0 : 0.5 * median(trips);
}

// One execution seen from the root: its time until `peer` is done with it.
double task_s(Bench& bench, Running& running, int peer, double way_s, bool& failed) {
    const auto& harness = bench.harness();
    const bool collects = running.completes_at_root();
    const bool is_root = harness.rank() == running.root();
    bench.begin(running);
    const double begin_s = bench.clock().now_s();
    if (collects && is_root) harness.send_value('?', peer);
    if (collects && harness.rank() == peer) harness.receive_value<char>(running.root());
    failed |= running.execute() != 0;
    if (!collects && harness.rank() == peer) harness.send_value('!', running.root());
    if (!collects && is_root) harness.receive_value<char>(peer);
    return is_root ? bench.clock().now_s() - begin_s - way_s : nothing;
}

Batch run(Bench& bench, Running& running, std::size_t count) {
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    std::vector<double> ways;
    for (int peer = 0; peer < harness.size(); ++peer) {
        ways.push_back(peer == running.root() ? 0.0 : one_way_s(bench, running.root(), peer));
    }
    bool failed = false;
    const std::vector<Reading> readings(count);
    std::vector<double> values(count, nothing);
    for (auto& value : values) {
        for (int peer = 0; peer < harness.size(); ++peer) {
            if (peer == running.root()) continue;
            const double way_s = ways[static_cast<std::size_t>(peer)];
            value = std::max(value, task_s(bench, running, peer, way_s, failed));
        }
    }
    const double elapsed_s = bench.clock().now_s() - begin_s;
    const auto reduced = reduce_batch(bench, readings, values, elapsed_s, failed);
    return keep_on_time(reduced, reduced.rows);
}

}  // namespace

extern const TimingMethod tasks_timing{
    .name = "tasks",
    .one_rank_at_a_time = true,
    .run = run,
};

}  // namespace lanewise::measure
