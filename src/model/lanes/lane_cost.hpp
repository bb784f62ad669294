// SPDX-License-Identifier: BSD-3-Clause
//
// Lane cost: what a scatter over two sites takes on P lanes.
//
// The root's site has n0 ranks, the other n1. On one lane, one rank of the other site receives all
// of its site's blocks and forwards them. On P lanes, the root first gives P - 1 ranks of its site
// the blocks that they are to send over, X(P) blocks cross on each lane at once, and P ranks
// forward them; Y(P) blocks in all move inside a site, one after another.
//
// Source: Chiba, Endo and Matsuoka, "MPI_Scatter/Gather for grid environments", 2008: T(P), X(P)
// and Y(P) of section 4.2. A gather costs the same in reverse, over the lanes to the root's site.

#pragma once

#include <cstdint>
#include <vector>

namespace lanewise::model {

struct TwoSites {
    int root_site_ranks = 1;                /* n0 */
    int other_site_ranks = 1;               /* n1 */
    double wan_latency_s = 0.0;             /* L */
    std::vector<double> lane_bandwidth_Bps; /* b(P) of each of P lanes; more have the last */
    double lan_bandwidth_Bps = 0.0;         /* b_LAN */
    double overhead_s = 0.0;                /* alpha */

    int lanes_max() const; /* min(n0, n1) */
    double lane_Bps(int lanes) const;
};

/* Blocks that cross on the fullest of `lanes`, and that move inside a site. */
std::int64_t blocks_across(const TwoSites& sites, int lanes);
std::int64_t blocks_inside(const TwoSites& sites, int lanes);

/* T(P). */
double scatter_s(const TwoSites& sites, int lanes, std::int64_t block_bytes);

}  // namespace lanewise::model
