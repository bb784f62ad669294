// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts: the two levels of a collective that knows which ranks share a host. On each host one rank
// is the leader: the root, elsewhere the lowest rank. Leaders exchange messages between hosts, and
// each serves the ranks of its host.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"
#include "collectives/rank_order.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {

/* The ranks of each host, its leader first; the host of the root first, the others by their lowest
   rank. */
std::vector<std::vector<int>> hosts_of(const CallShape& shape, int root);

/* All ranks in a row, host by host, and where one of them stands in it. */
struct HostRow {
    HostRow(const CallShape& shape, const std::vector<std::vector<int>>& hosts);

    int hosts() const { return static_cast<int>(begins.size()) - 1; }
    int begin(int of_host) const { return begins[static_cast<std::size_t>(of_host)]; }
    int size(int of_host) const { return begin(of_host + 1) - begin(of_host); }
    int rank_on(int of_host, int at) const { return order.rank_at(begin(of_host) + at); }
    int leader(int of_host) const { return rank_on(of_host, 0); }

    RankOrder order;
    std::vector<int> begins; /* of each host in the row; behind them, where the last one ends */
    int host = 0;            /* of this rank */
    int place = 0;           /* of this rank on its host; 0: it is the leader */
};

/* Binomial trees over the nodes of a row, over the leaders from the first on, and on each host from
   its leader. Every subtree is a row of nodes; children on other hosts come first. */
Node host_row_tree(const HostRow& row);

/* A tree over all ranks, as one of them sees it. */
struct HostNode {
    int parent = -1;
    std::vector<int> leaders; /* children on other hosts, in the order in which they are served */
    std::vector<int> members; /* children on this host */
};

/* The tree of the row that begins with the root. */
HostNode host_tree(const CallShape& shape, int root);

/* The leaders of all hosts, that of the root first, and the number of the own among them; -1 where
   this rank is none. */
struct Leaders {
    std::vector<int> ranks;
    int own = -1;
};
Leaders leaders_of(const CallShape& shape, int root);

}  // namespace lanewise::collectives
