// SPDX-License-Identifier: BSD-3-Clause
//
// Lane network: what a message costs between ranks at several sites, according to the lane curves
// of a platform. Inside a site it has the LAN's latency and bandwidth. Between sites it has the
// latency of that pair, b(1) on the connection of both hosts, and its part of a link that P
// messages share at b(P), of what one host sends to several, and of what one receives from several.
// What one carries inside its site and to others together tells whether these share an interface. A
// platform without these rates does not say whether b(1) is that of a connection or of an
// interface: it is taken for that of an interface between sites, which does not hold up what is
// sent inside one.

#pragma once

#include "base/result.hpp"
#include "model/lanes/lane_cost.hpp"
#include "model/platform/platform.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

/* Whether the site of each rank is known, and a curve between all that have ranks. */
bool knows_lanes(const Platform& platform);

Result<Network> lane_network(const Platform& platform, int ranks);

/* Whether data leaves the root's site or comes to it: a link need not carry as much both ways. */
enum class Crossing { from_root, to_root };

/* The two sites of the first `ranks` ranks, seen from `root`, which is one of them; fails where
   there are not two. */
Result<TwoSites> two_sites(const Platform& platform, int ranks, int root, Crossing crossing);

}  // namespace lanewise::model
