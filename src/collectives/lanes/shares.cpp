// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lanewise::collectives {
namespace {

/* The time at which the lanes that have begun by then have transferred `total`. */
double level_s(std::span<const LaneRate> lanes, double total) {
    std::vector<LaneRate> rising(lanes.begin(), lanes.end());
    std::sort(rising.begin(), rising.end(),
              [](const auto& a, const auto& b) { return a.latency_s < b.latency_s; });
    double units_per_s = 0.0;
    double before_begin =
        0.0; /* what the lanes would have transferred since time 0, had they begun */
    double level = 0.0;
    for (const auto& lane : rising) {
        if (units_per_s > 0.0 && level <= lane.latency_s) break;
        units_per_s += 1.0 / lane.s_per_unit;
        before_begin += lane.latency_s / lane.s_per_unit;
        level = (total + before_begin) / units_per_s;
    }
    return level;
}

}  // namespace

std::vector<std::int64_t> shares_of(std::span<const LaneRate> lanes, std::int64_t total) {
    const double level = level_s(lanes, static_cast<double>(total));
    std::vector<std::int64_t> shares(lanes.size(), 0);
    // Ends are rounded rather than shares, so that they add up.
    double exact = 0.0;
    std::int64_t given = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        exact += std::max(0.0, level - lanes[i].latency_s) / lanes[i].s_per_unit;
        const auto end = std::clamp<std::int64_t>(std::llround(exact), given, total);
        shares[i] = end - given;
        given = end;
    }
    if (!shares.empty()) shares.back() += total - given;
    return shares;
}

}  // namespace lanewise::collectives
