// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/sites.hpp"

#include <algorithm>
#include <map>

namespace lanewise::collectives {
namespace {

std::size_t index(int rank) {
    return static_cast<std::size_t>(rank);
}

/* How many ranks of its host come before each, where `first` comes before all. */
std::map<int, int> turns(const std::vector<int>& ranks, const CallShape& shape, int first) {
    std::map<int, int> taken;
    std::map<int, int> turn;
    const auto give = [&](int rank) { turn[rank] = taken[shape.hosts[index(rank)]]++; };
    give(first);
    for (const int rank : ranks) {
        if (rank != first) give(rank);
    }
    return turn;
}

void order(std::vector<int>& ranks, const CallShape& shape) {
    const auto root = std::find(ranks.begin(), ranks.end(), shape.root);
    if (root != ranks.end()) std::rotate(ranks.begin(), root, root + 1);
    if (shape.hosts.empty()) return;
    auto turn = turns(ranks, shape, ranks.front());
    std::stable_sort(ranks.begin(), ranks.end(),
                     [&](int left, int right) { return turn[left] < turn[right]; });
}

}  // namespace

std::vector<Site> sites_of(const CallShape& shape) {
    const auto site_of = [&](int rank) {
        return shape.sites.empty() ? 0 : shape.sites[index(rank)];
    };
    std::map<int, Site> found;
    for (int rank = 0; rank < shape.ranks; ++rank) found[site_of(rank)].ranks.push_back(rank);
    std::vector<Site> sites;
    const int home = site_of(shape.root);
    for (auto& [number, site] : found) {
        site.number = number;
        order(site.ranks, shape);
        sites.insert(number == home ? sites.begin() : sites.end(), std::move(site));
    }
    return sites;
}

LaneRanks::LaneRanks(const CallShape& shape) : sites_(sites_of(shape)) {
    std::size_t most = 1;
    for (const auto& site : sites_) most = std::max(most, site.ranks.size());
    slices_ = std::clamp(shape.lanes, 1, static_cast<int>(most));
    for (std::size_t site = 0; site < sites_.size(); ++site) {
        const auto& ranks = sites_[site].ranks;
        const auto me = std::find(ranks.begin(), ranks.end(), shape.rank);
        if (me == ranks.end()) continue;
        here_ = static_cast<int>(site);
        others_.assign(me + 1, ranks.end());
        others_.insert(others_.end(), ranks.begin(), me);
    }
}

}  // namespace lanewise::collectives
