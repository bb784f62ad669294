// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/piecewise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/statistics.hpp"
#include "model/models/round_trips.hpp"
#include "model/models/segments.hpp"
#include "model/models/trains.hpp"
#include "model/samples/experiments.hpp"

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

/* The part of `times` that is in protocol `which`. */
BySize part_of(const BySize& times, const std::vector<Protocol>& protocols, std::size_t which) {
    const bool last = which + 1 == protocols.size();
    return {times.lower_bound(protocols[which].from_bytes),
            last ? times.end() : times.lower_bound(protocols[which + 1].from_bytes)};
}

/* The line through `times`. From one time alone, or none, `like` with as many times its height. */
PiecewiseTime line_of(const BySize& times, const Line& like, double otherwise) {
    if (times.size() >= 2) {
        const auto line = fit_line(marks_of(times));
        return {Parameter(line.intercept), Parameter(line.slope)};
    }
    double height = otherwise;
    if (!times.empty()) {
        const auto& [bytes, time_s] = *times.begin();
        const double usual_s = like.at(static_cast<double>(bytes));
        height = usual_s > 0.0 ? time_s / usual_s : otherwise;
    }
    return {Parameter(like.intercept * height), Parameter(like.slope * height)};
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

PiecewiseTime mean_of(const Piecewise& model, std::size_t protocol) {
    PiecewiseTime mean;
    const auto count = static_cast<double>(model.links.count());
    model.links.each([&](int, int, const std::vector<PiecewiseTime>& times) {
        mean.fixed_s.value += times[protocol].fixed_s.value / count;
        mean.s_per_byte.value += times[protocol].s_per_byte.value / count;
    });
    return mean;
}

}  // namespace

std::size_t Piecewise::protocol_of(std::int64_t bytes) const {
    const auto above = std::upper_bound(
        protocols.begin(), protocols.end(), bytes,
        [](std::int64_t wanted, const Protocol& protocol) { return wanted < protocol.from_bytes; });
    return above == protocols.begin() ? 0 : static_cast<std::size_t>(above - protocols.begin()) - 1;
}

Result<Fitted<Piecewise>> fit_piecewise(const Observations& observations) {
    const RoundTrips trips(observations);
    const int ranks = observations.conditions.ranks;
    if (ranks < 2) return lacking("two ranks", "pairs", observations);
    if (const auto link = trips.missing(2))
        return lacking(link_name(link->first, link->second), "pairs", observations);
    const auto usual = one_way(observations, {});
    if (usual.size() < 2) return lacking("round trips at two sizes", "pairs", observations);
    const auto marks = marks_of(usual);
    const auto segments = find_segments(marks);
    const auto measured = measured_train_times(observations);
    Fitted<Piecewise> fitted;
    auto& model = fitted.model;
    for (const auto& segment : segments)
        model.protocols.push_back({static_cast<std::int64_t>(std::ceil(segment.from)), {}, {}, {}});
    model.links = Links<std::vector<PiecewiseTime>>(ranks);
    for (std::size_t i = 0; i < segments.size(); ++i) {
        auto& protocol = model.protocols[i];
        const auto& like = segments[i].line;
        const auto part = [&](const BySize& times) { return part_of(times, model.protocols, i); };
        protocol.gap = line_of(part(measured.interval_s), like, 1.0);
        protocol.send = line_of(part(measured.send_s), like, 0.0);
        protocol.receive = line_of(part(measured.receive_s), like, 0.0);
    }
    for (std::size_t i = segments.size(); i-- > 0;) {
        const auto intervals = part_of(measured.interval_s, model.protocols, i);
        if (!follows_arrival(intervals, usual)) break;
        model.waits_from_bytes = model.protocols[i].from_bytes;
    }
    model.links.each([&](int a, int b, std::vector<PiecewiseTime>& link) {
        const auto own = one_way(observations, std::pair{a, b});
        for (std::size_t i = 0; i < segments.size(); ++i)
            link.push_back(line_of(part_of(own, model.protocols, i), segments[i].line, 1.0));
    });
    return fitted;
}

std::vector<Parameter *> parameters(Piecewise& model) {
    std::vector<Parameter *> all;
    const auto add = [&all](PiecewiseTime& time) {
        all.push_back(&time.fixed_s);
        all.push_back(&time.s_per_byte);
    };
    for (auto& protocol : model.protocols) {
        add(protocol.gap);
        add(protocol.send);
        add(protocol.receive);
    }
    model.links.each([&](int, int, std::vector<PiecewiseTime>& link) {
        for (auto& time : link) add(time);
    });
    return all;
}

Network network(const Piecewise& model, int ranks) {
    Network network;
    network.ranks = ranks;
    if (model.waits_from_bytes) network.eager_bytes = *model.waits_from_bytes - 1;
    std::vector<PiecewiseTime> means;
    for (std::size_t i = 0; i < model.protocols.size(); ++i) means.push_back(mean_of(model, i));
    network.cost = [model, means](int from, int to, std::int64_t bytes) {
        const int known = model.links.ranks();
        const bool measured = from < known && to < known && from != to;
        const auto& times = measured ? model.links.at(from, to) : means;
        const auto which = model.protocol_of(bytes);
        const auto& time = times[which];
        if (model.waits_from_bytes && bytes >= *model.waits_from_bytes) {
            const double bytes_s = time.s_per_byte.value * static_cast<double>(bytes);
            return MessageCost{
                .egress_s = bytes_s, .latency_s = time.fixed_s.value, .ingress_s = bytes_s};
        }
        const auto& protocol = model.protocols[which];
        return spaced_message(time.time_s(bytes), protocol.gap.time_s(bytes),
                              protocol.send.time_s(bytes), protocol.receive.time_s(bytes));
    };
    return network;
}

}  // namespace lanewise::model
