// SPDX-License-Identifier: BSD-3-Clause
//
// The list of timing methods, and the reduction they share.

#include "measure/timing/timing.hpp"

namespace lanewise::measure {

std::span<const TimingMethod> timing_methods() {
    static constexpr TimingMethod methods[] = {
        {LW_TIMING_MAX, "max", false, run_max},
        {LW_TIMING_ROOT, "root", false, run_root},
        {LW_TIMING_GLOBAL, "global", true, run_global},
        {LW_TIMING_TASKS, "tasks", false, run_tasks},
    };
    return methods;
}

Agreement agree(const Bench& bench, std::span<const Reading> readings,
                std::span<const double> rows, double elapsed_s, bool failed) {
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
