// SPDX-License-Identifier: BSD-3-Clause
//
// Global timing: the last end less the first start, on the global clock. The
// closest to the definition (MPIBlib 2008, section 2), and as good as the clock.

#include "measure/timing/timing.hpp"

namespace lanewise::measure {
namespace {

Batch run(Bench& bench, Running& running, std::size_t count) {
    bool failed = false;
    const auto& clock = bench.global_clock();
    const double begin_s = bench.clock().now_s();
    const auto readings = repeat(bench, running, count, failed, [] {});
    // Rows: the ends, then the starts negated, so that one maximum serves both.
    std::vector<double> rows;
    for (const auto& reading : readings) rows.push_back(clock.at_s(reading.end_s));
    for (const auto& reading : readings) rows.push_back(-clock.at_s(reading.begin_s));
    const double elapsed_s = bench.clock().now_s() - begin_s;
    const auto reduced = reduce_batch(bench, readings, rows, elapsed_s, failed);
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
        values.push_back(reduced.rows[i] + reduced.rows[count + i]);
    }
    return keep_on_time(reduced, values);
}

}  // namespace

extern const TimingMethod global_timing{
    .name = "global",
    .needs_global_clock = true,
    .run = run,
};

}  // namespace lanewise::measure
