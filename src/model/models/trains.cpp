// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/trains.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "base/train.hpp"
#include "model/models/round_trips.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
namespace {

using Gathered = std::map<std::int64_t, std::vector<double>>;

BySize medians(const Gathered& gathered) {
    BySize all;
    for (const auto& [bytes, times] : gathered) all[bytes] = median(times);
    return all;
}

}  // namespace

TrainTimes measured_train_times(const Observations& observations) {
    const RoundTrips trips(observations);
    Gathered intervals;
    Gathered sends;
    Gathered receives;
    Gathered round_trips;
    for (const auto& seen : observations.all) {
        const auto bytes = seen.message_bytes;
        if (seen.experiment == Experiment::send) sends[bytes].push_back(seen.time_s);
        if (seen.experiment == Experiment::receive) receives[bytes].push_back(seen.time_s);
        if (seen.experiment == Experiment::pair && seen.reply_bytes == bytes)
            round_trips[bytes].push_back(seen.time_s);
        if (seen.experiment != Experiment::train) continue;
        const auto one = trips.time_s(seen.root, seen.peer, bytes, 0);
        if (one) intervals[bytes].push_back((seen.time_s - *one) / (train_length - 1));
    }
    return {medians(intervals), medians(sends), medians(receives), medians(round_trips)};
}

Result<TrainTimes> train_times(const Observations& observations) {
    auto times = measured_train_times(observations);
    if (times.round_trip_s.empty()) return lacking("round trips", "pairs", observations);
    if (times.interval_s.size() < 2)
        return lacking("trains at two sizes, with pairs at these and 0,", "trains", observations);
    if (times.send_s.empty()) return lacking("sends", "sends", observations);
    if (times.receive_s.empty()) return lacking("receives", "receives", observations);
    return times;
}

MessageCost spaced_message(double message_s, double interval_s, double send_s, double receive_s) {
    const double interface_s = std::clamp(interval_s, 0.0, message_s);
    MessageCost cost{.egress_s = interface_s, .ingress_s = interface_s};
    double left_s = message_s - interface_s;
    cost.receive_s = std::min({receive_s, interval_s, left_s});
    left_s -= cost.receive_s;
    cost.send_s = std::min({send_s, interval_s, left_s});
    cost.latency_s = left_s - cost.send_s;
    cost.rest_s = std::max(interval_s - message_s, 0.0);
    return cost;
}

}  // namespace lanewise::model
