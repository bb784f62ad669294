// SPDX-License-Identifier: BSD-3-Clause

#include "model/platform/lane_network.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace lanewise::model {
namespace {

std::size_t index(int number) {
    return static_cast<std::size_t>(number);
}

const LaneCurve *curve_between(const Platform& platform, const std::string& from,
                               const std::string& to) {
    for (const auto& curve : platform.lanes) {
        if (curve.from == from && curve.to == to) return &curve;
    }
    return nullptr;
}

/* What a message between two sites, or inside one, needs. */
struct Way {
    double latency_s = 0.0;
    double s_per_byte = 0.0;
    int shared_link = -1;
    int interface = 0;
};

using Ways = std::map<std::pair<int, int>, Way>;

Way inside(const Platform& platform, const std::string& site) {
    for (const auto& lan : platform.lans) {
        if (lan.site == site && lan.bandwidth_Bps > 0.0)
            return {lan.latency_s, 1.0 / lan.bandwidth_Bps, -1};
    }
    return {};
}

/* Where what a host sends inside its site and to others is less than the sum of both, they share an
   interface. */
constexpr double share_below = 0.9;

/* The links that are a host's own: what it sends to or receives from other sites, and all that it
   does. Indices into Network::shared_links. */
struct HostLinks {
    int sends = -1;
    int sends_all = -1;
    int receives = -1;
    int receives_all = -1;
};

double lan_Bps(const Platform& platform, const std::string& site) {
    const auto way = inside(platform, site);
    return way.s_per_byte > 0.0 ? 1.0 / way.s_per_byte : 0.0;
}

/* Adds a link for each rate that limits. */
class HostLimit {
  public:
    void take(double apart_Bps, double with_lan_Bps, double lan_Bps) {
        apart_Bps_ = std::max(apart_Bps_, apart_Bps);
        const bool shared = with_lan_Bps > 0.0 && lan_Bps > 0.0 &&
                            with_lan_Bps < share_below * (apart_Bps + lan_Bps);
        if (shared) all_Bps_ = std::max({all_Bps_, with_lan_Bps, apart_Bps, lan_Bps});
    }
    int add_apart(Network& network) const { return add(network, {{apart_Bps_}}); }
    /* What is sent inside the site has the shorter round trip, and takes most. */
    int add_all(Network& network) const { return add(network, {{all_Bps_}, true}); }

  private:
    static int add(Network& network, SharedLink link) {
        if (!(link.bandwidth_Bps[0] > 0.0)) return -1;
        network.shared_links.push_back(std::move(link));
        return static_cast<int>(network.shared_links.size()) - 1;
    }

    double apart_Bps_ = 0.0;
    double all_Bps_ = 0.0;
};

/* Of a host at `site`, by the host of it that was measured. */
HostLinks links_of_host(const Platform& platform, const std::string& site, Network& network) {
    HostLimit sends;
    HostLimit receives;
    const double local_Bps = lan_Bps(platform, site);
    for (const auto& curve : platform.lanes) {
        const auto& rates = curve.one_host;
        if (curve.from == site) sends.take(rates.sends_Bps, rates.sends_with_lan_Bps, local_Bps);
        if (curve.to == site)
            receives.take(rates.receives_Bps, rates.receives_with_lan_Bps, local_Bps);
    }
    return {sends.add_apart(network), sends.add_all(network), receives.add_apart(network),
            receives.add_all(network)};
}

std::vector<int> numbered(const std::vector<std::string>& names, int ranks,
                          std::vector<std::string>& distinct) {
    std::vector<int> numbers;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto& name = names[index(rank)];
        const auto found = std::find(distinct.begin(), distinct.end(), name);
        numbers.push_back(static_cast<int>(found - distinct.begin()));
        if (found == distinct.end()) distinct.push_back(name);
    }
    return numbers;
}

}  // namespace

bool knows_lanes(const Platform& platform) {
    const std::set<std::string> sites(platform.sites.begin(), platform.sites.end());
    if (sites.size() < 2) return false;
    for (const auto& from : sites) {
        for (const auto& to : sites) {
            if (from == to) continue;
            const auto *curve = curve_between(platform, from, to);
            if (!curve || curve->bandwidth_Bps.empty()) return false;
        }
    }
    return true;
}

Result<Network> lane_network(const Platform& platform, int ranks) {
    if (!knows_lanes(platform) || ranks > static_cast<int>(platform.sites.size())) {
        return Failure{LW_ERR_NOT_FOUND,
                       "the platform has no lane curves for these ranks; "
                       "lanewise measure lanes writes them"};
    }
    Network network;
    network.ranks = ranks;
    std::vector<std::string> names;
    const auto site = numbered(platform.sites, ranks, names);
    std::vector<std::string> hosts;
    network.host = numbered(platform.hosts, ranks, hosts);
    Ways ways;
    for (std::size_t from = 0; from < names.size(); ++from) {
        for (std::size_t to = 0; to < names.size(); ++to) {
            auto& way = ways[{static_cast<int>(from), static_cast<int>(to)}];
            if (from == to) {
                way = inside(platform, names[from]);
                continue;
            }
            const auto *curve = curve_between(platform, names[from], names[to]);
            // Where nobody has measured what one host carries, it is taken for what one lane does.
            const auto& rates = curve->one_host;
            const bool known = rates.sends_Bps > 0.0 && rates.receives_Bps > 0.0;
            way = {curve->latency_s, 1.0 / curve->bandwidth_Bps[0],
                   static_cast<int>(network.shared_links.size()), known ? own_connection : 1};
            network.shared_links.push_back({curve->bandwidth_Bps});
        }
    }
    std::vector<HostLinks> own;
    for (std::size_t number = 0; number < hosts.size(); ++number) {
        const auto first =
            std::find(network.host.begin(), network.host.end(), static_cast<int>(number));
        const auto rank = static_cast<std::size_t>(first - network.host.begin());
        own.push_back(links_of_host(platform, platform.sites[rank], network));
    }
    network.cost = [ways, site, own, host = network.host](int from, int to, std::int64_t bytes) {
        if (host[index(from)] == host[index(to)]) return MessageCost{};
        const auto& way = ways.at({site[index(from)], site[index(to)]});
        const double wire_s = way.s_per_byte * static_cast<double>(bytes);
        const auto& sender = own[index(host[index(from)])];
        const auto& receiver = own[index(host[index(to)])];
        const bool shares = sender.sends_all >= 0 || receiver.receives_all >= 0;
        const int interface = shares ? own_connection : way.interface;
        MessageCost cost{.egress_s = wire_s,
                         .latency_s = way.latency_s,
                         .ingress_s = interface == own_connection ? 0.0 : wire_s,
                         .shared_links = {sender.sends_all, receiver.receives_all},
                         .interface = interface};
        if (way.shared_link < 0) return cost;
        for (const int link : {way.shared_link, sender.sends, receiver.receives}) {
            cost.shared_links.add(link);
        }
        return cost;
    };
    return network;
}

Result<TwoSites> two_sites(const Platform& platform, int ranks, int root, Crossing crossing) {
    const auto known = std::min(index(ranks), platform.sites.size());
    const auto site_of = std::span(platform.sites).first(known);
    const std::set<std::string> names(site_of.begin(), site_of.end());
    if (names.size() != 2 || !knows_lanes(platform)) {
        return Failure{LW_ERR_UNSUPPORTED,
                       "the cost model of Chiba, Endo and Matsuoka is for two sites"};
    }
    const auto& home = site_of[index(root)];
    const auto& other = home == *names.begin() ? *names.rbegin() : *names.begin();
    const auto *curve = crossing == Crossing::from_root ? curve_between(platform, home, other)
                                                        : curve_between(platform, other, home);
    TwoSites sites;
    sites.root_site_ranks = static_cast<int>(std::ranges::count(site_of, home));
    sites.other_site_ranks = static_cast<int>(std::ranges::count(site_of, other));
    sites.wan_latency_s = curve->latency_s;
    const auto lan = inside(platform, home);
    sites.lan_bandwidth_Bps = lan.s_per_byte > 0.0 ? 1.0 / lan.s_per_byte : 0.0;
    sites.overhead_s = lan.latency_s;
    // The curve holds what P lanes carry together, and more lanes than it has what its last ones
    // do; b(P) of the cost model is for each.
    const auto& together_Bps = curve->bandwidth_Bps;
    const auto most = std::max(sites.root_site_ranks, sites.other_site_ranks);
    for (std::size_t lanes = 1; lanes <= index(most); ++lanes) {
        const double carried_Bps = together_Bps[std::min(lanes, together_Bps.size()) - 1];
        sites.lane_bandwidth_Bps.push_back(carried_Bps / static_cast<double>(lanes));
    }
    return sites;
}

}  // namespace lanewise::model
