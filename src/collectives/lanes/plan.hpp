// SPDX-License-Identifier: BSD-3-Clause
//
// Lane plan: who carries what between the root's site and each other one.
//
// A lane is a sender in the root's site and a receiver in the other (of a
// gather the other way round). The root itself is the first sender, since what
// it sends needs no hop to the lane; lanes to several sites go on with the next
// ranks of the root's site. A receiver's own block crosses on its own lane as
// far as the lane's share allows, since it then needs no hop after it; the
// blocks of the others fill what is left, a lane's own host first.
//
// Source: Chiba, Endo and Matsuoka, "MPI_Scatter/Gather for grid environments",
// 2008 (paper 001), section 4.1: Dep_send and Dep_recv. Any number of sites,
// shares by bytes and by what lanes carry are ours.

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

/* How blocks are dealt to lanes. */
enum class Dealing {
    by_bytes,  /* so that all lanes end together */
    by_blocks, /* whole blocks, as many on each lane as on the others or one more: the paper's */
};

/* The most lanes to one other site that are of use: a pair for each rank of the larger site. */
int lanes_max(const Shape& shape);

/* At most Shape::lanes lanes to each other site; the site with most data first. */
std::vector<Lane> lanes_of(const Shape& shape, Dealing dealing);

}  // namespace lanewise::collectives
