// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts: the two levels of a collective that knows which ranks share a host. On each host one rank
// is the leader: the root, elsewhere the lowest rank. Leaders exchange messages between hosts, and
// each serves the ranks of its host.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

/* A tree over all ranks, as one of them sees it. */
struct HostNode {
    int parent = -1;
    std::vector<int> leaders; /* children on other hosts, in the order in which they are served */
    std::vector<int> members; /* children on this host */
};

/* Binomial trees, over the leaders from the root, and on each host from its leader. */
HostNode host_tree(const CallShape& shape, int root);

/* The leaders of all hosts, that of the root first, and the number of the own among them; -1 where
   this rank is none. */
struct Leaders {
    std::vector<int> ranks;
    int own = -1;
};
Leaders leaders_of(const CallShape& shape, int root);

}  // namespace lanewise::collectives
