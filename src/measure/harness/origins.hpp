// SPDX-License-Identifier: BSD-3-Clause
//
// Origins: what an operation delivers, as its definition requires. Each entry of the registry names
// the function that says it; validate.cpp compares the buffers with it.

#pragma once

#include <vector>

namespace lanewise::measure {

/* Where a block of a receive buffer comes from: the sum over `ranks`, mostly one, of block `block`
   of their send buffers, or of one of `or_blocks` where MPI leaves open which arrives. */
struct Origin {
    std::vector<int> ranks;
    int block = 0;
    std::vector<int> or_blocks = {};
};

using Origins = std::vector<Origin>;

/* The rank that receives, and the call. */
struct Standpoint {
    int me = 0;
    int size = 1;
    int root = 0;
    int window = 1;
};

/* The blocks that a rank must have received, in their order. */
using Delivers = Origins (*)(const Standpoint& here);

/* The rank so much further on, in a ring. */
int rank_at(const Standpoint& s, int distance);
/* The root's partner in a benchmark of two ranks. */
int partner(const Standpoint& s);
std::vector<int> ranks_from(int first, int end);

Origins repeated(int times, const Origin& origin);
/* Block `block` of each rank, in the order of ranks. */
Origins from_each(const Standpoint& s, int block);
/* One block of each other rank, in the order of its distance before (-1) or after (1) this one. */
Origins from_others(const Standpoint& s, int sign);
/* `all` at one rank, nothing at others. */
Origins at_root(const Standpoint& s, const Origins& all);
Origins at_partner(const Standpoint& s, const Origins& all);

/* What several benchmarks deliver. */
Origins from_root_to_partner(const Standpoint& s);
Origins from_each_to_its_partner(const Standpoint& s);
Origins window_to_partner(const Standpoint& s);
Origins window_to_each_partner(const Standpoint& s);
Origins from_left(const Standpoint& s);
Origins from_left_and_right(const Standpoint& s);

}  // namespace lanewise::measure
