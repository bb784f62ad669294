// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/hockney.hpp"

#include <bit>

#include "model/models/round_trips.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
namespace {

int levels(int ranks) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

}  // namespace

Result<Fitted<Hockney>> fit_hockney(const Observations& observations) {
    const RoundTrips trips(observations);
    if (observations.conditions.ranks < 2) return lacking("two ranks", "pairs", observations);
    if (const auto link = trips.missing(2))
        return lacking(link_name(link->first, link->second), "pairs", observations);
    Fitted<Hockney> fitted{Hockney{Links<HockneyLink>(trips.ranks())}, {}};
    fitted.model.links.each([&](int i, int j, HockneyLink& link) {
        const auto line = fit_line(trips.marks(i, j));
        link.latency_s = Parameter(line.intercept / 2.0);
        link.s_per_byte = Parameter(line.slope);
        note_cut(fitted.notes, "hockney: latency of " + link_name(i, j), line.cut_intercept / 2.0);
        note_cut(fitted.notes, "hockney: time per byte of " + link_name(i, j), line.cut_slope);
    });
    return fitted;
}

std::vector<Parameter *> parameters(Hockney& model) {
    std::vector<Parameter *> all;
    model.links.each([&](int, int, HockneyLink& link) {
        all.push_back(&link.latency_s);
        all.push_back(&link.s_per_byte);
    });
    return all;
}

HockneyLink mean_link(const Hockney& model) {
    return mean_of(model.links);
}

Network network(const Hockney& model, int ranks) {
    Network network;
    network.ranks = ranks;
    network.cost = [model, mean = mean_link(model)](int from, int to, std::int64_t bytes) {
        const int known = model.links.ranks();
        const bool measured = from < known && to < known && from != to;
        const auto& link = measured ? model.links.at(from, to) : mean;
        return MessageCost{.send_s = link.time_s(bytes)};
    };
    return network;
}

namespace hockney {

double linear_scatter_s(const HockneyLink& link, int ranks, std::int64_t block_bytes) {
    return (ranks - 1) * link.time_s(block_bytes);
}

double binomial_scatter_s(const HockneyLink& link, int ranks, std::int64_t block_bytes) {
    return levels(ranks) * link.latency_s.value +
           link.s_per_byte.value * (ranks - 1) * static_cast<double>(block_bytes);
}

double linear_bcast_s(const HockneyLink& link, int ranks, std::int64_t bytes) {
    return (ranks - 1) * link.time_s(bytes);
}

double binomial_bcast_s(const HockneyLink& link, int ranks, std::int64_t bytes) {
    return levels(ranks) * link.time_s(bytes);
}

double chain_bcast_s(const HockneyLink& link, int ranks, std::int64_t bytes) {
    return (ranks - 1) * link.time_s(bytes);
}

}  // namespace hockney

}  // namespace lanewise::model
