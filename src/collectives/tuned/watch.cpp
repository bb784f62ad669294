// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/watch.hpp"

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"

namespace lanewise::tuned {

void Watch::ruled(std::uint64_t message_bytes, std::int64_t elapsed_ns) {
    ruled_bytes_ = message_bytes;
    ruled_ns_ = std::max<std::int64_t>(1, elapsed_ns);
}

void Watch::sampled(std::uint64_t message_bytes, std::int64_t elapsed_ns) {
    const bool pair = ruled_ns_ > 0 && ruled_bytes_ == message_bytes;
    if (pair) {
        const auto own_ns = static_cast<double>(std::max<std::int64_t>(1, elapsed_ns));
        pairs_.push_back(std::log(static_cast<double>(ruled_ns_) / own_ns));
    }
    ruled_ns_ = 0;
}

bool Watch::look() {
    constexpr double level = 0.05;
    for (const double pair : pairs_) {
        ++count_;
        const double distance = pair - mean_;
        mean_ += distance / static_cast<double>(count_);
        squares_ += distance * (pair - mean_);
    }
    pairs_.clear();
    ++looks_;
    if (count_ < 2 || !(mean_ > 0.0)) return false;
    const auto n = static_cast<double>(count_);
    const double error = std::sqrt(squares_ / (n - 1.0) / n);
    const auto look = static_cast<double>(looks_);
    const auto tail = level / (look * (look + 1.0));
    return mean_ > error * student_quantile(n - 1.0, tail);
}

double Watch::ratio() const {
    return std::exp(mean_);
}

}  // namespace lanewise::tuned
