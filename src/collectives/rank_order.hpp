// SPDX-License-Identifier: BSD-3-Clause
//
// RankOrder: which rank is at which node of a tree. Node 0 is the root.
//
// By default, ranks follow one another from the root on. Where processors and links differ, the LMO
// order gives the large subtrees to the fast ones (Hatta and Shibusawa, ICPP Workshops 2000;
// Dichev, Rychkov and Lastovetsky, EuroMPI 2010): nodes are filled in order of falling subtree,
// each with the rank, among the free ones nearest to the root, that gets the blocks of that subtree
// from its parent soonest. Every rank computes the same order.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

struct RankOrder {
    int ranks = 1;
    int root = 0;
    std::vector<int> rank_of_node = {}; /* empty: from the root on */

    int rank_at(int node) const {
        return rank_of_node.empty() ? (node + root) % ranks
                                    : rank_of_node[static_cast<std::size_t>(node)];
    }
    int node_of(int rank) const;
};

/* From the root on. */
RankOrder plain_order(const CallShape& shape);

/* Whether data goes away from the root or towards it: links need not be alike both ways. */
enum class Direction { from_root, to_root };

/* The LMO order on a binomial tree; the shape brings a platform and all counts. */
RankOrder lmo_order(const CallShape& shape, Direction direction);

}  // namespace lanewise::collectives
