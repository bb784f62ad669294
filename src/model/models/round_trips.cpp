// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/round_trips.hpp"

#include <set>

namespace lanewise::model {

RoundTrips::RoundTrips(const Observations& observations) : links_(observations.conditions.ranks) {
    for (const auto& seen : observations.all) {
        if (seen.experiment != Experiment::pair || seen.root == seen.peer) continue;
        links_.at(seen.root, seen.peer)[{seen.message_bytes, seen.reply_bytes}] = seen.time_s;
    }
}

std::optional<std::pair<int, int>> RoundTrips::missing(std::size_t sizes_min) const {
    std::optional<std::pair<int, int>> first;
    links_.each([&](int i, int j, const auto& times) {
        std::set<std::int64_t> sizes;
        for (const auto& [bytes, time_s] : times) sizes.insert(bytes.first + bytes.second);
        if (!first && sizes.size() < sizes_min) first = {i, j};
    });
    return first;
}

std::optional<double> RoundTrips::time_s(int a, int b, std::int64_t there,
                                         std::int64_t back) const {
    const auto& times = links_.at(a, b);
    const auto found = times.find({there, back});
    if (found != times.end()) return found->second;
    const auto mirrored = times.find({back, there});
    if (mirrored != times.end()) return mirrored->second;
    const auto out = times.find({there, there});
    const auto home = times.find({back, back});
    if (out == times.end() || home == times.end()) return std::nullopt;
    return (out->second + home->second) / 2.0;
}

std::vector<Mark> RoundTrips::marks(int a, int b) const {
    std::vector<Mark> marks;
    for (const auto& [bytes, time_s] : links_.at(a, b)) {
        marks.push_back({static_cast<double>(bytes.first + bytes.second), time_s, time_s});
    }
    return marks;
}

}  // namespace lanewise::model
