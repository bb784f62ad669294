// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/size_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.hpp"
#include "model/models/segments.hpp"

namespace lanewise::model {
namespace {

std::vector<Mark> marks_of(const BySize& times) {
    std::vector<Mark> marks;
    for (const auto& [bytes, time_s] : times)
        marks.push_back({static_cast<double>(bytes), time_s, time_s});
    return marks;
}

/* Half round trips of the same size both ways. */
BySize one_way(const Observations& observations, std::optional<std::pair<int, int>> link) {
    std::map<std::int64_t, std::vector<double>> all;
    for (const auto& seen : observations.all) {
        if (seen.experiment != Experiment::pair || seen.reply_bytes != seen.message_bytes) continue;
        const std::pair between{std::min(seen.root, seen.peer), std::max(seen.root, seen.peer)};
        if (!link || between == *link) all[seen.message_bytes].push_back(seen.time_s / 2.0);
    }
    BySize times;
    for (const auto& [bytes, values] : all) times[bytes] = median(values);
    return times;
}

/* Whether a message follows another when that has arrived, neither sooner nor later. */
bool follows_arrival(const BySize& intervals, const BySize& messages) {
    constexpr double nearly = 0.1;
    double sum = 0.0;
    std::size_t count = 0;
    for (const auto& [bytes, interval_s] : intervals) {
        const auto message = messages.find(bytes);
        if (message == messages.end()) continue;
        sum += std::fabs(interval_s / message->second - 1.0);
        ++count;
    }
    return count > 0 && sum <= nearly * static_cast<double>(count);
}

}  // namespace

BySize SizeRanges::part_of(const BySize& times, std::size_t which) const {
    const bool last = which + 1 == count();
    return {times.lower_bound(from_bytes[which]),
            last ? times.end() : times.lower_bound(from_bytes[which + 1])};
}

PiecewiseTime SizeRanges::line_of(const BySize& times, std::size_t which, double otherwise) const {
    const auto part = part_of(times, which);
    const bool last = which + 1 == count();
    if (part.size() >= 2 && (last || 4 * part.rbegin()->first >= from_bytes[which + 1])) {
        const auto line = fit_line(marks_of(part));
        return {Parameter(line.intercept), Parameter(line.slope)};
    }
    const auto& like = lines[which];
    double height = 0.0;
    for (const auto& [bytes, time_s] : part) {
        const double usual_s = like.at(static_cast<double>(bytes));
        height += (usual_s > 0.0 ? time_s / usual_s : otherwise) / static_cast<double>(part.size());
    }
    if (part.empty()) height = otherwise;
    return {Parameter(like.intercept * height), Parameter(like.slope * height)};
}

std::size_t range_of(const std::vector<std::int64_t>& from_bytes, std::int64_t bytes) {
    const auto above = std::upper_bound(from_bytes.begin(), from_bytes.end(), bytes);
    return above == from_bytes.begin() ? 0
                                       : static_cast<std::size_t>(above - from_bytes.begin()) - 1;
}

std::optional<SizeRanges> find_size_ranges(const Observations& observations,
                                           const TrainTimes& trains, RangesOf what) {
    const auto usual = one_way(observations, {});
    if (usual.size() < 2) return std::nullopt;
    SizeRanges ranges;
    const auto gaps =
        what == RangesOf::messages ? std::vector<Mark>{} : marks_of(trains.interval_s);
    for (const auto& segment : find_segments(marks_of(usual), gaps)) {
        ranges.from_bytes.push_back(static_cast<std::int64_t>(std::ceil(segment.from)));
        ranges.lines.push_back(segment.line);
    }
    for (std::size_t i = ranges.count(); i-- > 0;) {
        if (!follows_arrival(ranges.part_of(trains.interval_s, i), usual)) break;
        ranges.waits_from_bytes = ranges.from_bytes[i];
    }
    return ranges;
}

MessageLinks message_links(const SizeRanges& ranges, const Observations& observations) {
    MessageLinks links(observations.conditions.ranks);
    links.each([&](int a, int b, std::vector<PiecewiseTime>& link) {
        const auto own = one_way(observations, std::pair{a, b});
        for (std::size_t i = 0; i < ranges.count(); ++i)
            link.push_back(ranges.line_of(own, i, 1.0));
    });
    return links;
}

std::vector<PiecewiseTime> mean_messages(const MessageLinks& links, std::size_t ranges) {
    std::vector<PiecewiseTime> means(ranges);
    const auto count = static_cast<double>(links.count());
    links.each([&](int, int, const std::vector<PiecewiseTime>& times) {
        for (std::size_t i = 0; i < ranges; ++i) {
            means[i].fixed_s.value += times[i].fixed_s.value / count;
            means[i].s_per_byte.value += times[i].s_per_byte.value / count;
        }
    });
    return means;
}

}  // namespace lanewise::model
