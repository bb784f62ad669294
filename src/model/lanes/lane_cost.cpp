// SPDX-License-Identifier: BSD-3-Clause

#include "model/lanes/lane_cost.hpp"

#include <algorithm>

namespace lanewise::model {
namespace {

/* Seconds of `blocks` blocks, one after another. */
double lan_s(const TwoSites& sites, double blocks, std::int64_t block_bytes) {
    return blocks * static_cast<double>(block_bytes) / sites.lan_bandwidth_Bps;
}

double lane_s(const TwoSites& sites, int lanes, double blocks, std::int64_t block_bytes) {
    return blocks * static_cast<double>(block_bytes) / sites.lane_Bps(lanes);
}

}  // namespace

int TwoSites::lanes_max() const {
    return std::min(root_site_ranks, other_site_ranks);
}

double TwoSites::lane_Bps(int lanes) const {
    const auto row = std::min(static_cast<std::size_t>(lanes), lane_bandwidth_Bps.size());
    return lane_bandwidth_Bps[row - 1];
}

std::int64_t blocks_across(const TwoSites& sites, int lanes) {
    return (sites.other_site_ranks + lanes - 1) / lanes;
}

std::int64_t blocks_inside(const TwoSites& sites, int lanes) {
    const std::int64_t n0 = sites.root_site_ranks;
    const std::int64_t n1 = sites.other_site_ranks;
    return n0 >= n1 ? n0 + n1 - 1 - blocks_across(sites, lanes) : n1 + lanes - 2;
}

double scatter_s(const TwoSites& sites, int lanes, std::int64_t block_bytes) {
    const auto across = static_cast<double>(blocks_across(sites, lanes));
    const auto inside = static_cast<double>(blocks_inside(sites, lanes));
    return sites.wan_latency_s + lane_s(sites, lanes, across, block_bytes) +
           lan_s(sites, inside, block_bytes) + sites.overhead_s;
}

}  // namespace lanewise::model
