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

Agreement agree(const Bench& bench, std::span<const Reading> readings, std::span<const double> rows,
                double elapsed_s, bool failed) {
    std::vector<double> all(rows.begin(), rows.end());
    for (const auto& reading : readings) all.push_back(reading.late ? 1.0 : 0.0);
    all.push_back(elapsed_s);
    all.push_back(failed ? 1.0 : 0.0);
    bench.harness().maximum(all);

    Agreement agreement;
    agreement.failed = all.back() > 0.0;
    agreement.elapsed_s = all[all.size() - 2];
    for (std::size_t i = 0; i < readings.size(); ++i) {
        if (all[rows.size() + i] == 0.0) agreement.on_time.push_back(i);
    }
    all.resize(rows.size());
    agreement.rows = std::move(all);
    return agreement;
}

Batch keep_on_time(const Agreement& agreement, std::span<const double> values_s) {
    Batch batch;
    batch.elapsed_s = agreement.elapsed_s;
    batch.failed = agreement.failed;
    batch.late_count = values_s.size() - agreement.on_time.size();
    for (const auto i : agreement.on_time) batch.values_s.push_back(values_s[i]);
    return batch;
}

}  // namespace lanewise::measure
