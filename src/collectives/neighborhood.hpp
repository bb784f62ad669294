// SPDX-License-Identifier: BSD-3-Clause
//
// Neighborhood: which rank sends blocks to which, as the edges of a graph. A program gives the
// graph by the topology of a communicator. Where there is no program, to price an algorithm or to
// draw it, ranks stand on a periodic grid of two dimensions.

#pragma once

#include <span>
#include <vector>

namespace lanewise::collectives {

/* A block that one rank sends to another. */
struct Edge {
    int from = 0;
    int to = 0;
    int sent = 0;     /* which of the blocks that `from` sends */
    int received = 0; /* which of those that `to` receives */

    bool operator==(const Edge&) const = default;
};

/* On the grid, which is as square as the ranks allow, a rank has a block for the rank before it and
   one for the rank after it, along the first dimension and then along the second, and gets such
   blocks from them. */
constexpr int grid_degree = 4;
int grid_neighbor(int ranks, int rank, int block);

/* Which of the blocks of its receiver a block of a grid becomes: to the rank before a rank, that
   rank is the one after it. */
constexpr int opposite(int block) {
    return block ^ 1;
}

std::vector<Edge> grid_edges(int ranks);

/* Whether somebody stands there more than once; less than 0 is nobody. */
bool repeats(std::span<const int> neighbors);

}  // namespace lanewise::collectives
