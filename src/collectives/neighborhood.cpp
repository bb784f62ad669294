// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/neighborhood.hpp"

#include <algorithm>
#include <iterator>

namespace lanewise::collectives {
namespace {

/* The number of rows; there are at least as many columns. */
int rows_of(int ranks) {
    int rows = 1;
    for (int i = 2; i * i <= ranks; ++i) {
        if (ranks % i == 0) rows = i;
    }
    return rows;
}

}  // namespace

int grid_neighbor(int ranks, int rank, int block) {
    const int rows = rows_of(ranks);
    const int columns = ranks / rows;
    const int step = block % 2 == 0 ? -1 : 1;
    const bool across = block >= 2;
    const int row = (rank / columns + (across ? 0 : step) + rows) % rows;
    const int column = (rank % columns + (across ? step : 0) + columns) % columns;
    return row * columns + column;
}

std::vector<Edge> grid_edges(int ranks) {
    std::vector<Edge> edges;
    for (int rank = 0; rank < ranks; ++rank) {
        for (int block = 0; block < grid_degree; ++block) {
            edges.push_back({rank, grid_neighbor(ranks, rank, block), block, opposite(block)});
        }
    }
    return edges;
}

bool repeats(std::span<const int> neighbors) {
    std::vector<int> sorted;
    std::ranges::copy_if(neighbors, std::back_inserter(sorted), [](int rank) { return rank >= 0; });
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) != sorted.end();
}

}  // namespace lanewise::collectives
