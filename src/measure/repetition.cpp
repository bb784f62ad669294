// SPDX-License-Identifier: BSD-3-Clause
//
// See repetition.hpp.

#include "measure/repetition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lanewise::measure {

std::size_t Repetition::checkpoint() const {
    std::size_t checkpoint = rule_.repetitions_min;
    while (checkpoint <= values_.size()) checkpoint *= 2;
    return std::min(checkpoint, rule_.repetitions_max);
}

std::size_t Repetition::next_batch(double estimate_s) const {
    if (stopped_) return 0;
    auto count = checkpoint() - values_.size();
    if (rule_.time_limit_s > 0.0 && estimate_s > 0.0) {
        const double fits = std::max(1.0, (rule_.time_limit_s - elapsed_s_) / estimate_s);
        if (fits < static_cast<double>(count)) count = static_cast<std::size_t>(fits);
    }
    return count;
}

void Repetition::add(std::span<const double> values, std::size_t late_count, double elapsed_s) {
    const auto aim = checkpoint();
    values_.insert(values_.end(), values.begin(), values.end());
    late_count_ += late_count;
    elapsed_s_ += elapsed_s;
    ++batch_count_;
    stopped_ = decide(aim);
}

Interval Repetition::interval() const {
    const bool of_median = rule_.rule == LW_RULE_MEDIAN;
    const auto interval = of_median ? median_interval(values_, rule_.confidence)
                                    : student_interval(values_, rule_.confidence);
    const bool covers =
        of_median ? median_ranks(values_.size(), rule_.confidence).wide_enough : values_.size() > 1;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return covers ? interval : Interval{interval.center, none, none};
}

std::optional<lw_stop> Repetition::decide(std::size_t aim) const {
    const auto done = values_.size();
    if (done >= rule_.repetitions_max) return rule_.fixed() ? LW_STOP_FIXED : LW_STOP_MAXIMUM;
    // Late repetitions and the time limit cut batches short; the interval is not checked there.
    const bool enough = !rule_.fixed() && batch_count_ >= 2 && done >= aim;
    if (enough && interval().relative_error() <= rule_.error) return LW_STOP_INTERVAL;
    if (rule_.time_limit_s > 0.0 && elapsed_s_ >= rule_.time_limit_s) return LW_STOP_TIME_LIMIT;
    // Where most starts are late, the number of attempts ends the point.
    if (done + late_count_ >= 2 * rule_.repetitions_max) return LW_STOP_MAXIMUM;
    return std::nullopt;
}

}  // namespace lanewise::measure
