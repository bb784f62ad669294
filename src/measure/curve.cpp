// SPDX-License-Identifier: BSD-3-Clause
//
// See curve.hpp.

#include "measure/curve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanewise::measure {
namespace {

// Middles are multiples of this, so that reductions of floats can be measured there.
constexpr std::uint64_t grain_bytes = 4;

}  // namespace

Curve::Curve(std::span<const std::uint64_t> sizes_bytes, std::uint64_t stride_bytes_min,
             double tolerance)
    : stride_bytes_min_(std::max(stride_bytes_min, 2 * grain_bytes)),
      tolerance_(tolerance),
      wanted_(sizes_bytes.begin(), sizes_bytes.end()) {
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
}

void Curve::want_middle(Span span) {
    if (span.high - span.low < 2 * stride_bytes_min_) return;
    const auto middle = span.low + (span.high - span.low) / 2;
    wanted_.push_back(middle / grain_bytes * grain_bytes);
    halved_.push_back(span);
}

void Curve::add(std::span<const double> medians_s) {
    const auto sizes = std::exchange(wanted_, {});
    const auto spans = std::exchange(halved_, {});
    for (std::size_t i = 0; i < sizes.size(); ++i) medians_s_[sizes[i]] = medians_s[i];
    if (spans.empty()) {
        for (std::size_t i = 1; i < sizes.size(); ++i) want_middle({sizes[i - 1], sizes[i]});
        return;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto [low, high] = spans[i];
        const double fraction =
            static_cast<double>(sizes[i] - low) / static_cast<double>(high - low);
        const double line = medians_s_[low] + fraction * (medians_s_[high] - medians_s_[low]);
        if (std::abs(medians_s[i] - line) <= tolerance_ * std::abs(medians_s[i])) continue;
        want_middle({low, sizes[i]});
        want_middle({sizes[i], high});
    }
}

}  // namespace lanewise::measure
