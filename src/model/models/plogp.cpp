// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/plogp.hpp"

#include <algorithm>
#include <bit>

#include "model/models/trains.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
namespace {

// Of a line over the last doubling, or as much of it as there is: two sizes that are near to each
// other tell more of noise than of a byte. A larger message never costs less.
double slope_beyond(const std::vector<PLogPSize>& sizes, Parameter PLogPSize::*what) {
    const auto& last = sizes.back();
    const auto half = std::find_if(sizes.rbegin(), sizes.rend(), [&](const PLogPSize& size) {
        return size.message_bytes <= last.message_bytes / 2;
    });
    const auto& low = half == sizes.rend() ? sizes.front() : *half;
    const auto span = static_cast<double>(last.message_bytes - low.message_bytes);
    return std::max(((last.*what).value - (low.*what).value) / span, 0.0);
}

// Straight lines between the sizes; before the first its value.
double between(const std::vector<PLogPSize>& sizes, Parameter PLogPSize::*what,
               std::int64_t bytes) {
    const auto& first = sizes.front();
    if (sizes.size() == 1 || bytes <= first.message_bytes) return (first.*what).value;
    const auto& last = sizes.back();
    if (bytes > last.message_bytes) {
        const auto more = static_cast<double>(bytes - last.message_bytes);
        return (last.*what).value + slope_beyond(sizes, what) * more;
    }
    const auto above = std::lower_bound(
        sizes.begin(), sizes.end(), bytes,
        [](const PLogPSize& size, std::int64_t wanted) { return size.message_bytes < wanted; });
    const auto& low = *std::prev(above);
    const auto span = static_cast<double>(above->message_bytes - low.message_bytes);
    const double slope = (((*above).*what).value - (low.*what).value) / span;
    return (low.*what).value + slope * static_cast<double>(bytes - low.message_bytes);
}

}  // namespace

double PLogP::send_s(std::int64_t bytes) const {
    return between(sizes, &PLogPSize::send_s, bytes);
}

double PLogP::receive_s(std::int64_t bytes) const {
    return between(sizes, &PLogPSize::receive_s, bytes);
}

double PLogP::gap_s(std::int64_t bytes) const {
    return between(sizes, &PLogPSize::gap_s, bytes);
}

Result<Fitted<PLogP>> fit_plogp(const Observations& observations) {
    const auto times = train_times(observations);
    if (!times) return times.failure();
    Fitted<PLogP> fitted;
    auto& [model, notes] = fitted;
    for (const auto& [bytes, interval_s] : times->interval_s) {
        const auto send = times->send_s.find(bytes);
        const auto receive = times->receive_s.find(bytes);
        if (send == times->send_s.end() || receive == times->receive_s.end()) continue;
        note_cut(notes, "plogp: gap at " + std::to_string(bytes) + " bytes", interval_s);
        model.sizes.push_back({bytes, Parameter(send->second), Parameter(receive->second),
                               Parameter(std::max(interval_s, 0.0))});
    }
    if (model.sizes.size() < 2)
        return lacking("two sizes that trains, sends and receives share", "sends", observations);
    const auto& [bytes, round_trip_s] = *times->round_trip_s.begin();
    const double latency_s = round_trip_s / 2.0 - model.gap_s(bytes);
    note_cut(notes, "plogp: latency L", latency_s);
    model.latency_s = Parameter(std::max(latency_s, 0.0));
    return fitted;
}

std::vector<Parameter *> parameters(PLogP& model) {
    std::vector<Parameter *> all{&model.latency_s};
    for (auto& size : model.sizes) {
        for (auto *parameter : {&size.send_s, &size.receive_s, &size.gap_s}) {
            all.push_back(parameter);
        }
    }
    return all;
}

Network network(const PLogP& model, int ranks) {
    Network network;
    network.ranks = ranks;
    network.cost = [model](int, int, std::int64_t bytes) {
        return spaced_message(model.message_s(bytes), model.gap_s(bytes), model.send_s(bytes),
                              model.receive_s(bytes));
    };
    return network;
}

namespace plogp {
namespace {

int levels(int ranks) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

}  // namespace

double linear_scatter_s(const PLogP& model, int ranks, std::int64_t block_bytes) {
    return (ranks - 1) * model.gap_s(block_bytes) + model.latency_s.value;
}

double binomial_scatter_s(const PLogP& model, int ranks, std::int64_t block_bytes) {
    double sum_s = 0.0;
    for (int blocks = 1; blocks < ranks; blocks *= 2)
        sum_s += model.message_s(block_bytes * blocks);
    return sum_s;
}

double binomial_bcast_s(const PLogP& model, int ranks, std::int64_t bytes) {
    return levels(ranks) * model.message_s(bytes);
}

double chain_bcast_s(const PLogP& model, int ranks, std::int64_t bytes) {
    return (ranks - 1) * model.message_s(bytes);
}

}  // namespace plogp

}  // namespace lanewise::model
