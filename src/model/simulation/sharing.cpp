// SPDX-License-Identifier: BSD-3-Clause

#include "model/simulation/sharing.hpp"

#include <algorithm>
#include <limits>

namespace lanewise::model {

void Sharing::enter(double now_s, std::uint32_t message, std::int64_t bytes, double weight) {
    go_on_to(now_s);
    if (under_way_.empty()) given_ = weights_ = 0.0;
    weights_ += weight;
    under_way_.push({given_ + static_cast<double>(bytes) / weight, weight, entered_++, message});
    ++version_;
}

std::optional<double> Sharing::next_s() const {
    const double rate = bytes_per_s_of_weight_1();
    if (under_way_.empty() || !(rate > 0.0)) return std::nullopt;
    return now_s_ + std::max(0.0, under_way_.top().done_at - given_) / rate;
}

std::uint32_t Sharing::leave(double now_s) {
    const auto first = under_way_.top();
    now_s_ = now_s;
    given_ = first.done_at;
    weights_ -= first.weight;
    under_way_.pop();
    ++version_;
    return first.message;
}

double Sharing::bytes_per_s_of_weight_1() const {
    const auto& bandwidth = link_->bandwidth_Bps;
    if (under_way_.empty()) return 0.0;
    if (bandwidth.empty()) return std::numeric_limits<double>::infinity();
    const auto row = std::min(under_way_.size(), bandwidth.size()) - 1;
    return bandwidth[row] / weights_;
}

void Sharing::go_on_to(double now_s) {
    // An unlimited link gives everything at once, in the event of that very moment.
    const double rate = bytes_per_s_of_weight_1();
    if (rate < std::numeric_limits<double>::infinity()) given_ += (now_s - now_s_) * rate;
    now_s_ = now_s;
}

}  // namespace lanewise::model
