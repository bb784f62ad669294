// SPDX-License-Identifier: BSD-3-Clause
//
// Placement: which rank stands at which node of a tree. Node 0 is the root.
//
// Plainly, ranks follow one another from the root on. Where processors and
// links differ, the LMO order gives the large subtrees to those that are fast
// (Hatta and Shibusawa, ICPP Workshops 2000; Dichev, Rychkov and Lastovetsky,
// EuroMPI 2010): nodes are filled in order of falling subtree, each by that one
// of the free ranks nearest to the root to which its parent hands that many
// blocks soonest. Every rank finds the same.

#pragma once

#include <vector>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

struct Placement {
    int ranks = 1;
    int root = 0;
    std::vector<int> order = {}; /* the rank at each node; empty: from the root on */

    int rank_at(int node) const {
        return order.empty() ? (node + root) % ranks : order[static_cast<std::size_t>(node)];
    }
    int node_of(int rank) const;
};

/* From the root on. */
Placement plain_placement(const Shape& shape);

/* Whether data goes away from the root or towards it: links need not be alike both ways. */
enum class Direction { from_root, to_root };

/* The LMO order on a binomial tree; the shape brings a platform and all counts. */
Placement lmo_placement(const Shape& shape, Direction direction);

}  // namespace lanewise::collectives
