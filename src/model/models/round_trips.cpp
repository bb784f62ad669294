// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/round_trips.hpp"

#include <algorithm>
#include <set>

namespace lanewise::model {

RoundTrips::RoundTrips(const Observations& observations) : ranks_(observations.conditions.ranks) {
    // The same was perhaps measured from either end, or as a pingpong too.
    std::map<std::pair<int, int>, std::map<Sizes, std::vector<double>>> seen_s;
    for (const auto& seen : observations.all) {
        if (seen.experiment != Experiment::pair || seen.root == seen.peer) continue;
        const auto [low, high] = std::minmax(seen.root, seen.peer);
        seen_s[{low, high}][{seen.message_bytes, seen.reply_bytes}].push_back(seen.time_s);
    }
    for (const auto& [link, by_sizes] : seen_s) {
        for (const auto& [sizes, times_s] : by_sizes) links_[link][sizes] = centre_of(times_s);
    }
}

const RoundTrips::Times& RoundTrips::at(int a, int b) const {
    static const Times none;
    const auto found = links_.find(std::minmax(a, b));
    return found == links_.end() ? none : found->second;
}

template <typename Suffice>
std::optional<std::pair<int, int>> RoundTrips::first_without(const Suffice& suffice) const {
    for (int i = 0; i < ranks_; ++i) {
        for (int j = i + 1; j < ranks_; ++j) {
            if (!suffice(at(i, j))) return std::pair{i, j};
        }
    }
    return std::nullopt;
}

std::optional<std::pair<int, int>> RoundTrips::missing(std::size_t sizes_min) const {
    return first_without([sizes_min](const Times& times) {
        std::set<std::int64_t> sizes;
        for (const auto& [bytes, time_s] : times) sizes.insert(bytes.first + bytes.second);
        return sizes.size() >= sizes_min;
    });
}

std::optional<std::pair<int, int>> RoundTrips::missing_empty() const {
    return first_without([](const Times& times) { return times.contains({0, 0}); });
}

std::optional<double> RoundTrips::time_s(int a, int b, std::int64_t there,
                                         std::int64_t back) const {
    const auto& times = at(a, b);
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
    for (const auto& [bytes, time_s] : at(a, b)) {
        marks.push_back({static_cast<double>(bytes.first + bytes.second), time_s, time_s});
    }
    return marks;
}

}  // namespace lanewise::model
