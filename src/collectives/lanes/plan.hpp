// SPDX-License-Identifier: BSD-3-Clause
//
// Lane plan: who transfers what between the root's site and each other one.
//
// A lane is a sender in the root's site and a receiver in the other (in a gather, the reverse).
// This is not Träff's lane, which is one of the rails of a node. The root itself is the first
// sender, because what it sends needs no hop to the lane; lanes to several sites use the next ranks
// of the root's site. A receiver's own block crosses on its own lane as far as the lane's share
// allows, because it then needs no further hop; the blocks of the others fill the rest, the lane's
// own host first.
//
// Source: Chiba, Endo and Matsuoka, "MPI_Scatter/Gather for grid environments", 2008, section 4.1:
// Dep_send and Dep_recv. Any number of sites, and shares by bytes and by the rates of lanes, are
// ours.

#pragma once

#include <cstdint>
#include <vector>

#include "collectives/call_shape.hpp"

namespace lanewise::collectives {

/* A part of the block of a rank. */
struct Part {
    int owner = 0;
    std::int64_t offset = 0; /* units into the block */
    std::int64_t count = 0;
};

struct Lane {
    int sender = 0;
    int receiver = 0;
    std::vector<Part> parts; /* those of leaves first, then the receiver's own */
};

/* How blocks are distributed to lanes. */
enum class Dealing {
    by_bytes,  /* so that all lanes end together */
    by_blocks, /* whole blocks, as many on each lane as on the others or one more */
};

/* The most lanes to one other site that are of use: a pair for each rank of the larger site. */
int lanes_max(const CallShape& shape);

/* At most CallShape::lanes lanes to each other site; the site with most data first. */
std::vector<Lane> lanes_of(const CallShape& shape, Dealing dealing);

}  // namespace lanewise::collectives
