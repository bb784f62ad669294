// SPDX-License-Identifier: BSD-3-Clause
//
// Lane network: what a message costs between ranks at several sites, according to the lane curves
// of a platform. Inside a site it has the LAN's latency and bandwidth. Between sites it has the
// latency of that pair, b(1) at both hosts, and its part of a link that P messages share at b(P).
// What leaves a host for another site does not hold up what it sends inside its own: b(1) is the
// rate of a connection or of an interface between sites, and the LAN is several times as fast.

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
