// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "collectives/lanes/shares.hpp"
#include "collectives/lanes/sites.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::collectives {
namespace {

// Sizes from whose cost a lane's latency and bandwidth are separated.
constexpr std::int64_t short_bytes = std::int64_t{64} * 1024;
constexpr std::int64_t long_bytes = 16 * short_bytes;

int host_or_rank(const CallShape& shape, int rank) {
    return shape.hosts.empty() ? rank : shape.hosts[static_cast<std::size_t>(rank)];
}

/* Of one lane; s_per_unit is 0 where a longer message takes no longer. */
LaneRate rate_of(const CallShape& shape, const Lane& lane) {
    const auto needed_s = [&](std::int64_t bytes) {
        const auto cost = shape.network->cost(lane.sender, lane.receiver, bytes);
        return cost.latency_s + cost.send_s + std::max(cost.egress_s, cost.ingress_s) +
               cost.receive_s;
    };
    const double short_s = needed_s(short_bytes);
    const double each_s = std::max(
        0.0, (needed_s(long_bytes) - short_s) / static_cast<double>(long_bytes - short_bytes));
    const double latency_s = std::max(0.0, short_s - each_s * static_cast<double>(short_bytes));
    return {latency_s, each_s * static_cast<double>(shape.unit_bytes)};
}

/* All alike where no network tells them apart. A lane of no known rate is as fast as the fastest
   of the others. */
std::vector<LaneRate> rates_of(const CallShape& shape, const std::vector<Lane>& lanes) {
    std::vector<LaneRate> rates(lanes.size());
    if (!shape.network || !shape.network->cost) return rates;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        rates[i] = rate_of(shape, lanes[i]);
        if (rates[i].s_per_unit > 0.0) least = std::min(least, rates[i].s_per_unit);
    }
    if (!std::isfinite(least)) return std::vector<LaneRate>(lanes.size());
    for (auto& rate : rates) {
        if (rate.s_per_unit == 0.0) rate.s_per_unit = least;
    }
    return rates;
}

std::int64_t units_of(const CallShape& shape, const std::vector<int>& ranks) {
    std::int64_t units = 0;
    for (const int rank : ranks) units += shape.count_of(rank);
    return units;
}

/* Lanes of one site while parts are dealt to them. */
class Dealt {
  public:
    Dealt(const CallShape& shape, std::vector<Lane> lanes, std::vector<std::int64_t> shares)
        : shape_(shape), lanes_(std::move(lanes)), left_(std::move(shares)) {}

    /* What fits of the receivers' own blocks stays with them. */
    std::vector<Part> keep_own() {
        std::vector<Part> over;
        own_.resize(lanes_.size());
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const int owner = lanes_[i].receiver;
            if (std::any_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(i),
                            [&](const Lane& lane) { return lane.receiver == owner; })) {
                continue;
            }
            const auto count = shape_.count_of(owner);
            const auto kept = std::min(count, left_[i]);
            own_[i] = {owner, 0, kept};
            left_[i] -= kept;
            if (kept < count) over.push_back({owner, kept, count - kept});
        }
        return over;
    }

    /* Cuts a part at the ends of shares; lanes to the owner's host are filled first. */
    void deal(Part part) {
        for (const bool own_host : {true, false}) {
            for (std::size_t i = 0; i < lanes_.size() && part.count > 0; ++i) {
                const bool same =
                    host_or_rank(shape_, lanes_[i].receiver) == host_or_rank(shape_, part.owner);
                if (own_host && !same) continue;
                const auto count = std::min(part.count, left_[i]);
                if (count == 0) continue;
                lanes_[i].parts.push_back({part.owner, part.offset, count});
                left_[i] -= count;
                part.offset += count;
                part.count -= count;
            }
        }
    }

    std::vector<Lane> finish() {
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (own_[i].count > 0) lanes_[i].parts.push_back(own_[i]);
        }
        return std::move(lanes_);
    }

  private:
    const CallShape& shape_;
    std::vector<Lane> lanes_;
    std::vector<std::int64_t> left_;
    std::vector<Part> own_;
};

std::vector<std::int64_t> shares_by_bytes(const CallShape& shape, const std::vector<Lane>& lanes,
                                          std::int64_t total) {
    return shares_of(rates_of(shape, lanes), total);
}

/* The receivers' own block and whole blocks of others, X(P) on the fullest lane. */
std::vector<Lane> deal_blocks(const CallShape& shape, const Site& there, std::vector<Lane> lanes) {
    const auto receivers = std::min(lanes.size(), there.ranks.size());
    for (std::size_t i = there.ranks.size(); i-- > 0;) {
        const int owner = there.ranks[i];
        auto& lane = lanes[i % receivers];
        if (shape.count_of(owner) > 0) lane.parts.push_back({owner, 0, shape.count_of(owner)});
    }
    return lanes;
}

std::vector<Lane> deal_bytes(const CallShape& shape, const Site& there, std::vector<Lane> lanes) {
    auto shares = shares_by_bytes(shape, lanes, units_of(shape, there.ranks));
    const auto receivers = std::min(lanes.size(), there.ranks.size());
    Dealt dealt(shape, std::move(lanes), std::move(shares));
    const auto over = dealt.keep_own();
    for (std::size_t i = receivers; i < there.ranks.size(); ++i) {
        const int owner = there.ranks[i];
        dealt.deal({owner, 0, shape.count_of(owner)});
    }
    for (const auto& part : over) dealt.deal(part);
    return dealt.finish();
}

}  // namespace

int lanes_max(const CallShape& shape) {
    const auto sites = sites_of(shape);
    if (sites.size() < 2) return 1;
    std::size_t most = 0;
    for (const auto& site : sites) most = std::max(most, site.ranks.size());
    return static_cast<int>(most);
}

std::vector<Lane> lanes_of(const CallShape& shape, Dealing dealing) {
    auto sites = sites_of(shape);
    const auto home = sites.front();
    sites.erase(sites.begin());
    std::stable_sort(sites.begin(), sites.end(), [&](const Site& left, const Site& right) {
        return units_of(shape, left.ranks) > units_of(shape, right.ranks);
    });
    std::vector<Lane> all;
    std::size_t sender = 0;
    for (const auto& there : sites) {
        const auto most = std::max(home.ranks.size(), there.ranks.size());
        const auto wanted = static_cast<std::size_t>(std::max(1, shape.lanes));
        std::vector<Lane> lanes(std::min(most, wanted));
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            lanes[i].sender = home.ranks[sender++ % home.ranks.size()];
            lanes[i].receiver = there.ranks[i % there.ranks.size()];
        }
        auto dealt = dealing == Dealing::by_blocks ? deal_blocks(shape, there, std::move(lanes))
                                                   : deal_bytes(shape, there, std::move(lanes));
        std::move(dealt.begin(), dealt.end(), std::back_inserter(all));
    }
    return all;
}

}  // namespace lanewise::collectives
