// SPDX-License-Identifier: BSD-3-Clause
//
// Maximum timing: each rank times the operation on its own clock, and the
// longest time counts (MPIBlib 2008, section 2.1). The reduction is deferred to
// the end of the batch, one vector for all its repetitions: it gives the same
// values at about half the cost of a reduction after each.

#include "measure/timing/timing.hpp"

namespace lanewise::measure {
namespace {

Batch run(Bench& bench, Running& running, std::size_t count) {
    bool failed = false;
    const double begin_s = bench.clock().now_s();
    const auto readings = repeat(bench, running, count, failed, [] {});
    std::vector<double> values;
    for (const auto& reading : readings) values.push_back(reading.end_s - reading.begin_s);
    const double elapsed_s = bench.clock().now_s() - begin_s;
    const auto reduced = reduce_batch(bench, readings, values, elapsed_s, failed);
    return keep_on_time(reduced, reduced.rows);
}

}  // namespace

extern const TimingMethod max_timing{
    .name = "max",
    .run = run,
};

}  // namespace lanewise::measure
