// SPDX-License-Identifier: BSD-3-Clause
//
// See availability.hpp.

#include "measure/session/availability.hpp"

#include <cmath>

#include "measure/availability/polling.hpp"
#include "measure/availability/post_work_wait.hpp"
#include "measure/session/records.hpp"

namespace lanewise::measure::session {
namespace {

// From the first to the last interval in equal ratios.
std::vector<double> intervals_s(const Arguments& arguments) {
    std::vector<double> intervals;
    const double ratio = arguments.interval_last_s / arguments.interval_first_s;
    for (std::uint32_t i = 0; i < arguments.interval_count; ++i) {
        const double share =
            arguments.interval_count > 1 ? i / (arguments.interval_count - 1.0) : 0.0;
        intervals.push_back(arguments.interval_first_s * std::pow(ratio, share));
    }
    return intervals;
}

Outcome write(const measure::Bench& bench, Output& output, const Json& record, const char *event) {
    if (bench.harness().rank() != 0) return Done{};
    return output.other(record, event);
}

}  // namespace

std::size_t availability_records(const Arguments& arguments) {
    const auto sizes = arguments.sizes_bytes.size();
    return sizes * (arguments.subject == Subject::polling ? arguments.interval_count
                                                          : post_work_wait_amounts);
}

Outcome measure_polling(const Arguments& arguments, const std::set<std::string>& done,
                        measure::Bench& bench, Output& output) {
    for (const auto bytes : arguments.sizes_bytes) {
        for (const double interval_s : intervals_s(arguments)) {
            if (done.contains(polling_key(bytes, interval_s))) continue;
            const measure::PollingPlan plan{.message_bytes = bytes,
                                            .interval_s = interval_s,
                                            .work_s = arguments.work_s,
                                            .repetitions = arguments.options.repetitions_min,
                                            .validate = arguments.validate};
            const auto polled = measure::measure_polling(bench, plan);
            if (!polled) return polled.failure();
            const auto written = write(bench, output, polling_record(plan, *polled), "polling");
            if (!written) return written;
        }
    }
    return Done{};
}

Outcome measure_post_work_wait(const Arguments& arguments, const std::set<std::string>& done,
                               measure::Bench& bench, Output& output) {
    for (const auto bytes : arguments.sizes_bytes) {
        if (done.contains(waiting_key(bytes))) continue;
        const auto all = measure::measure_post_work_wait(
            bench, {bytes, arguments.options.repetitions_min, arguments.validate});
        if (!all) return all.failure();
        for (const auto& point : *all) {
            const auto written = write(bench, output, post_work_wait_record(point), "waiting");
            if (!written) return written;
        }
    }
    return Done{};
}

}  // namespace lanewise::measure::session
