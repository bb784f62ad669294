// SPDX-License-Identifier: BSD-3-Clause
//
// The timing methods, one line each, and the reduction they share.

#include "measure/timing/timing.hpp"

// In the order of lw_timing, which programs are compiled with: the next one goes last.
#define LANEWISE_TIMING_METHODS(X) \
    X(max_timing)                  \
    X(root_timing)                 \
    X(global_timing)               \
    X(tasks_timing)                \
    /* the next one */

namespace lanewise::measure {

#define LANEWISE_DECLARE(method) extern const TimingMethod method;
LANEWISE_TIMING_METHODS(LANEWISE_DECLARE)
#undef LANEWISE_DECLARE

std::span<const TimingMethod *const> timing_methods() {
#define LANEWISE_LIST(method) &(method),
    static constexpr const TimingMethod *methods[] = {LANEWISE_TIMING_METHODS(LANEWISE_LIST)};
#undef LANEWISE_LIST
    return methods;
}

ReducedBatch reduce_batch(const Bench& bench, std::span<const Reading> readings,
                          std::span<const double> rows, double elapsed_s, bool failed) {
    std::vector<double> all(rows.begin(), rows.end());
    for (const auto& reading : readings) all.push_back(reading.late ? 1.0 : 0.0);
    all.push_back(elapsed_s);
    all.push_back(failed ? 1.0 : 0.0);
    bench.harness().maximum(all);

    ReducedBatch reduced;
    reduced.failed = all.back() > 0.0;
    reduced.elapsed_s = all[all.size() - 2];
    for (std::size_t i = 0; i < readings.size(); ++i) {
        if (all[rows.size() + i] == 0.0) reduced.on_time.push_back(i);
    }
    all.resize(rows.size());
    reduced.rows = std::move(all);
    return reduced;
}

Batch keep_on_time(const ReducedBatch& reduced, std::span<const double> values_s) {
    Batch batch;
    batch.elapsed_s = reduced.elapsed_s;
    batch.failed = reduced.failed;
    batch.late_count = values_s.size() - reduced.on_time.size();
    for (const auto i : reduced.on_time) batch.values_s.push_back(values_s[i]);
    return batch;
}

}  // namespace lanewise::measure
