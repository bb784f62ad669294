// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/loggp.hpp"

#include <algorithm>

#include "model/models/line.hpp"
#include "model/models/trains.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
namespace {

// Intervals of at most this many overheads are limited by the processor, not by the gap.
constexpr double overheads = 1.1;

Line gap_line(const TrainTimes& times, double overhead_s) {
    std::vector<Mark> all;
    std::vector<Mark> beyond;
    for (const auto& [bytes, interval_s] : times.interval_s) {
        if (!(interval_s > 0.0)) continue;
        const Mark mark{static_cast<double>(std::max<std::int64_t>(bytes - 1, 0)), interval_s,
                        interval_s};
        all.push_back(mark);
        if (interval_s > overheads * overhead_s) beyond.push_back(mark);
    }
    return fit_line(beyond.size() < 2 ? all : beyond);
}

}  // namespace

double LogGP::interval_s(std::int64_t bytes) const {
    return std::max(overhead_s.value, gap_s.value + long_s(bytes));
}

Result<Fitted<LogGP>> fit_loggp(const Observations& observations) {
    const auto times = train_times(observations);
    if (!times) return times.failure();
    Fitted<LogGP> fitted;
    auto& [model, notes] = fitted;
    const double overhead_s =
        (times->send_s.begin()->second + times->receive_s.begin()->second) / 2.0;
    const auto line = gap_line(*times, overhead_s);
    note_cut(notes, "loggp: gap g", line.cut_intercept);
    note_cut(notes, "loggp: gap per byte G", line.cut_slope);
    model.overhead_s = Parameter(overhead_s);
    model.gap_s = Parameter(line.intercept);
    model.gap_s_per_byte = Parameter(line.slope);
    const auto& [bytes, round_trip_s] = *times->round_trip_s.begin();
    const double latency_s = round_trip_s / 2.0 - 2.0 * overhead_s - model.long_s(bytes);
    note_cut(notes, "loggp: latency L", latency_s);
    model.latency_s = Parameter(std::max(latency_s, 0.0));
    return fitted;
}

std::vector<Parameter *> parameters(LogGP& model) {
    return {&model.latency_s, &model.overhead_s, &model.gap_s, &model.gap_s_per_byte};
}

Network network(const LogGP& model, int ranks) {
    Network network;
    network.ranks = ranks;
    network.cost = [model](int, int, std::int64_t bytes) {
        const double overhead_s = model.overhead_s.value;
        return spaced_message(model.message_s(bytes), model.interval_s(bytes), overhead_s,
                              overhead_s);
    };
    return network;
}

namespace loggp {

double linear_scatter_s(const LogGP& model, int ranks, std::int64_t block_bytes) {
    return (ranks - 2) * model.interval_s(block_bytes) + model.message_s(block_bytes);
}

double binomial_scatter_s(const LogGP& model, int ranks, std::int64_t block_bytes) {
    double sum_s = 0.0;
    for (int blocks = 1; blocks < ranks; blocks *= 2)
        sum_s += model.message_s(block_bytes * blocks);
    return sum_s;
}

double chain_bcast_s(const LogGP& model, int ranks, std::int64_t bytes) {
    return (ranks - 1) * model.message_s(bytes);
}

}  // namespace loggp

}  // namespace lanewise::model
