// SPDX-License-Identifier: BSD-3-Clause
//
// Lane network: what a message costs between ranks at several sites, according to the lane curves
// of a platform. Inside a site it has the LAN's latency and bandwidth. Between sites it has the
// latency of that pair, the interfaces of both hosts at b(1), and its part of a link that P
// messages share at b(P). A host is assumed to have one interface for both, which is slower than
// two.

#pragma once

#include "base/result.hpp"
#include "model/lanes/lane_cost.hpp"
#include "model/platform/platform.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

/* Whether the site of each rank is known, and a curve between all that have ranks. */
bool knows_lanes(const Platform& platform);

Result<Network> lane_network(const Platform& platform, int ranks);

/* The two sites, seen from `root`; fails where there are not two. */
Result<TwoSites> two_sites(const Platform& platform, int root);

}  // namespace lanewise::model
