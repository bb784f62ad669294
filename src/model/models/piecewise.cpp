// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/piecewise.hpp"

#include <algorithm>

#include "model/models/round_trips.hpp"
#include "model/models/trains.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
std::size_t Piecewise::protocol_of(std::int64_t bytes) const {
    const auto above = std::upper_bound(
        protocols.begin(), protocols.end(), bytes,
        [](std::int64_t wanted, const Protocol& protocol) { return wanted < protocol.from_bytes; });
    return above == protocols.begin() ? 0 : static_cast<std::size_t>(above - protocols.begin()) - 1;
}

Result<Fitted<Piecewise>> fit_piecewise(const Observations& observations) {
    const RoundTrips trips(observations);
    if (observations.conditions.ranks < 2) return lacking("two ranks", "pairs", observations);
    if (const auto link = trips.missing(2))
        return lacking(link_name(link->first, link->second), "pairs", observations);
    const auto measured = measured_train_times(observations);
    const auto ranges = find_size_ranges(observations, measured, RangesOf::messages_and_gaps);
    if (!ranges) return lacking("round trips at two sizes", "pairs", observations);
    Fitted<Piecewise> fitted;
    auto& model = fitted.model;
    for (std::size_t i = 0; i < ranges->count(); ++i) {
        model.protocols.push_back({ranges->from_bytes[i],
                                   ranges->line_of(measured.interval_s, i, 1.0),
                                   ranges->line_of(measured.send_s, i, 0.0),
                                   ranges->line_of(measured.receive_s, i, 0.0)});
    }
    model.waits_from_bytes = ranges->waits_from_bytes;
    model.links = message_links(*ranges, observations);
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
    network.cost = [model, means = mean_messages(model.links, model.protocols.size())](
                       int from, int to, std::int64_t bytes) {
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
