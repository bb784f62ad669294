// SPDX-License-Identifier: BSD-3-Clause
//
// See gather_region.hpp. An escalation is a sample far above the others of its
// size: three times their lower decile, and by more than what a scheduler takes
// away; TCP waits for 200 ms before it sends again, a time slice is far below.
// Ranks of one host have no switch between them.

#include "model/models/gather_region.hpp"

#include <algorithm>
#include <set>

#include "base/statistics.hpp"

namespace lanewise::model {
namespace {

constexpr std::size_t repetitions_min = 20;
constexpr double factor = 3.0;
constexpr double excess_s = 0.1;

}  // namespace

std::optional<GatherRegion> find_gather_region(const Observations& observations) {
    GatherRegion region;
    const auto& hosts = observations.conditions.hosts;
    if (std::set<std::string>(hosts.begin(), hosts.end()).size() == 1) return std::nullopt;
    std::vector<double> excesses_s;
    for (const auto& seen : observations.all) {
        if (seen.operation != "gather" || seen.sorted_s.size() < repetitions_min) continue;
        const double usual_s = quantile(seen.sorted_s, 0.1);
        std::size_t count = 0;
        for (const double sample_s : seen.sorted_s) {
            if (sample_s <= factor * usual_s || sample_s - usual_s <= excess_s) continue;
            excesses_s.push_back(sample_s - usual_s);
            ++count;
        }
        region.probabilities.push_back(
            {seen.message_bytes,
             static_cast<double>(count) / static_cast<double>(seen.sorted_s.size())});
    }
    if (excesses_s.empty()) return std::nullopt;
    std::sort(
        region.probabilities.begin(), region.probabilities.end(),
        [](const Escalation& a, const Escalation& b) { return a.message_bytes < b.message_bytes; });
    region.escalation_s = median(excesses_s);
    bool quiet = true;
    for (const auto& at : region.probabilities) {
        quiet = quiet && at.probability == 0.0;
        if (quiet) region.m1_bytes = at.message_bytes;
        if (at.probability > 0.0) region.m2_bytes = at.message_bytes;
    }
    return region;
}

}  // namespace lanewise::model
