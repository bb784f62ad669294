// SPDX-License-Identifier: BSD-3-Clause
//
// See promise.hpp.

#include "tune/promise.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "base/statistics.hpp"
#include "collectives/predict.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::tune {
namespace {

using collectives::RankPlacement;

/* Only the order of magnitude counts: memory, a network in a building, a line between cities. */
struct Line {
    double latency_s;
    double bytes_per_s;
};
constexpr Line in_host = {.latency_s = 1e-6, .bytes_per_s = 5e9};
constexpr Line in_site = {.latency_s = 20e-6, .bytes_per_s = 1e9};
constexpr Line between_sites = {.latency_s = 5e-3, .bytes_per_s = 50e6};

bool differ(const std::vector<int>& numbers, int from, int to) {
    return !numbers.empty() &&
           numbers[static_cast<std::size_t>(from)] != numbers[static_cast<std::size_t>(to)];
}

model::Network usual_network(int ranks, const RankPlacement& located) {
    model::Network network;
    network.ranks = ranks;
    network.host = located.hosts;
    network.cost = [&located](int from, int to, std::int64_t bytes) {
        const bool far = differ(located.sites, from, to);
        const bool near = !far && !differ(located.hosts, from, to);
        const auto& line = far ? between_sites : near ? in_host : in_site;
        const double wire_s = static_cast<double>(bytes) / line.bytes_per_s;
        if (near) return model::MessageCost{.send_s = wire_s, .latency_s = line.latency_s};
        return model::MessageCost{.egress_s = wire_s,
                                  .latency_s = line.latency_s,
                                  .ingress_s = wire_s,
                                  .interface = far ? 1 : 0};
    };
    network.copy_s_per_byte = network.reduce_s_per_byte = 1.0 / in_host.bytes_per_s;
    return network;
}

double on_network(const Candidate& candidate, const collectives::PricedCall& call,
                  const model::Network& network) {
    const auto priced = collectives::predict(*candidate.lanewise, call, network);
    return priced && priced->finished ? priced->total_s : std::numeric_limits<double>::infinity();
}

}  // namespace

void promise(std::vector<Candidate>& candidates, collectives::Collective collective, int ranks,
             std::uint64_t message_bytes, const RankPlacement& located) {
    constexpr double other_segment = 1.1;
    const auto network = usual_network(ranks, located);
    std::map<std::pair<std::string, int>, double> own_choice_s;
    std::vector<double> all_s;
    for (auto& candidate : candidates) {
        if (!candidate.lanewise) continue;
        const auto [found, is_new] =
            own_choice_s.try_emplace({candidate.algorithm, candidate.lanes}, 0.0);
        if (is_new) {
            found->second = on_network(candidate,
                                       {.collective = collective,
                                        .ranks = ranks,
                                        .message_bytes = message_bytes,
                                        .lanes = candidate.lanes,
                                        .hosts = located.hosts,
                                        .sites = located.sites},
                                       network);
            all_s.push_back(found->second);
        }
        const double ratio = candidate.segment_bytes > 0 ? other_segment : 1.0;
        candidate.promise_s = ratio * found->second;
        if (candidate.predicted_s >= 0.0) candidate.promise_s = candidate.predicted_s;
    }
    const double usual_s = all_s.empty() ? 0.0 : median(all_s);
    for (auto& candidate : candidates) {
        if (candidate.lanewise) continue;
        const bool segmented = candidate.segment_bytes > 0;
        candidate.promise_s = segmented ? other_segment * usual_s : usual_s;
    }
}

}  // namespace lanewise::tune
