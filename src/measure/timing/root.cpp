// SPDX-License-Identifier: BSD-3-Clause
//
// Root timing: the time at the root until every rank has confirmed completion,
// less the time of the confirmation alone (MPIBlib 2008, section 2.1). The
// confirmation is the harness's barrier; an operation that completes at its root
// needs none. Confirmation and operation may overlap, so the time of a very small
// message can be too short or even negative; such values are kept.

#include <limits>

#include "measure/timing/timing.hpp"

namespace lanewise::measure {
namespace {

Batch run(Bench& bench, Running& running, std::size_t count) {
    const auto& harness = bench.harness();
    const bool confirms = !running.completes_at_root();
    const double confirmation_s = confirms ? bench.barrier_s() : 0.0;
    const bool here = harness.rank() == running.root();

    bool failed = false;
    const double begin_s = bench.clock().now_s();
    const auto readings = repeat(bench, running, count, failed, [&] {
        if (confirms) harness.barrier();
    });
    std::vector<double> values;
    for (const auto& reading : readings) {
        values.push_back(here ? reading.end_s - reading.begin_s - confirmation_s
                              : -std::numeric_limits<double>::infinity());
    }
    const double elapsed_s = bench.clock().now_s() - begin_s;
    const auto reduced = reduce_batch(bench, readings, values, elapsed_s, failed);
    return keep_on_time(reduced, reduced.rows);
}

}  // namespace

extern const TimingMethod root_timing{
    .name = "root",
    .run = run,
};

}  // namespace lanewise::measure
