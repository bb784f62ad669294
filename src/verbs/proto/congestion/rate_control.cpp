// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/congestion/rate_control.hpp"

#include <algorithm>

namespace lanewise::verbs {
namespace {

constexpr double gain = 1.0 / 16;                     // g
constexpr unsigned fast_steps = 5;                    // F
constexpr std::uint64_t bytes_per_step = 10'000'000;  // B
constexpr double additive_bits_per_s = 5e6;
constexpr double hyper_bits_per_s = 50e6;
// More than the device sends: nothing holds it back any longer.
constexpr double rate_most_bits_per_s = 100e9;
// How far above the rate that is used a cut may begin: what was counted in a short time may be less
// than was allowed only because timers were late.
constexpr double over_used = 1.25;
// Over how long the rate that is used is counted, at least.
constexpr Nanoseconds counted_least_ns = 1'000'000;

double rate_of(std::uint64_t bytes, Nanoseconds duration_ns) {
    return 8e9 * static_cast<double>(bytes) / static_cast<double>(duration_ns);
}

}  // namespace

double RateControl::used_rate(Nanoseconds now) const {
    const Nanoseconds duration = now - counted_since_;
    const double latest = rate_of(counted_bytes_, std::max(duration, counted_least_ns));
    return std::max(latest, counted_rate_);
}

bool RateControl::on_notification(Nanoseconds now, Nanoseconds round_trip_ns) {
    advance(now);
    if (is_limited_ && now - cut_at_ < period_ns_) return false;
    const double used = std::max(used_rate(now), rate_least_bits_per_s);
    rate_ = is_limited_ ? std::min(rate_, over_used * used) : used;
    alpha_ = is_limited_ ? alpha_ : 1;
    is_limited_ = true;
    target_ = rate_;
    rate_ = std::max(rate_ * (1 - alpha_ / 2), rate_least_bits_per_s);
    alpha_ = (1 - gain) * alpha_ + gain;
    period_ns_ = std::max(round_trip_ns, period_least_ns);
    cut_at_ = now;
    alpha_falls_at_ = rate_rises_at_ = now + period_ns_;
    time_steps_ = byte_steps_ = 0;
    bytes_ = 0;
    return true;
}

void RateControl::advance(Nanoseconds now) {
    while (is_limited_ && std::min(alpha_falls_at_, rate_rises_at_) <= now) {
        if (alpha_falls_at_ <= rate_rises_at_) {
            alpha_ *= 1 - gain;
            alpha_falls_at_ += period_ns_;
        } else {
            ++time_steps_;
            rate_rises_at_ += period_ns_;
            increase();
        }
    }
}

void RateControl::increase() {
    const auto [fewer, more] = std::minmax(time_steps_, byte_steps_);
    if (fewer > fast_steps) {
        target_ += hyper_bits_per_s;
    } else if (more > fast_steps) {
        target_ += additive_bits_per_s;
    }
    rate_ = (rate_ + target_) / 2;
    is_limited_ = rate_ < rate_most_bits_per_s;
}

void RateControl::on_sent(std::size_t bytes, Nanoseconds now) {
    const Nanoseconds duration = now - counted_since_;
    if (duration >= std::max(counted_least_ns, period_ns_)) {
        counted_rate_ = rate_of(counted_bytes_, duration);
        counted_since_ = now;
        counted_bytes_ = 0;
    }
    counted_bytes_ += bytes;
    if (!is_limited_) return;
    const double passage_ns = 8e9 * static_cast<double>(bytes) / rate_;
    departs_at_ = std::max(departs_at_, now - burst_ns) + static_cast<Nanoseconds>(passage_ns);
    bytes_ += bytes;
    if (bytes_ >= bytes_per_step) {
        bytes_ -= bytes_per_step;
        ++byte_steps_;
        increase();
    }
}

Nanoseconds RateControl::next_departure(Nanoseconds now) {
    advance(now);
    return is_limited_ ? departs_at_ : 0;
}

}  // namespace lanewise::verbs
