// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tree.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace lanewise::collectives {
namespace {

// The lowest set bit of a node is the width of its subtree; without that bit the node is its
// parent.
int width_of(int rank, int ranks) {
    return rank == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) : rank & -rank;
}

}  // namespace

int binomial_subtree(int rank, int ranks) {
    return std::min(width_of(rank, ranks), ranks - rank);
}

int binomial_parent(int rank) {
    return rank & (rank - 1);
}

Node binomial_tree(int rank, int ranks) {
    const int width = width_of(rank, ranks);
    Node node{.parent = rank == 0 ? -1 : binomial_parent(rank),
              .subtree = std::min(width, ranks - rank),
              .children = {}};
    for (int half = width / 2; half > 0; half /= 2) {
        const int child = rank + half;
        if (child < ranks) node.children.push_back({child, std::min(half, ranks - child)});
    }
    return node;
}

Node knomial_tree(int rank, int ranks, int radix) {
    // In 64 bits, since the least power of the radix from `ranks` up may be beyond an int.
    std::int64_t width = 1;
    while (rank == 0 ? width < ranks : rank % (width * radix) == 0) width *= radix;
    const auto digit = rank / width % radix;
    Node node{.parent = rank == 0 ? -1 : static_cast<int>(rank - digit * width),
              .subtree = static_cast<int>(std::min<std::int64_t>(width, ranks - rank)),
              .children = {}};
    for (auto step = width / radix; step > 0; step /= radix) {
        for (auto child = rank + step; child < std::min<std::int64_t>(rank + radix * step, ranks);
             child += step) {
            const auto below = std::min<std::int64_t>(step, ranks - child);
            node.children.push_back({static_cast<int>(child), static_cast<int>(below)});
        }
    }
    return node;
}

Node star_tree(int rank, int ranks) {
    if (rank != 0) return {.parent = 0, .subtree = 1, .children = {}};
    Node node{.parent = -1, .subtree = ranks, .children = {}};
    for (int child = 1; child < ranks; ++child) node.children.push_back({child, 1});
    return node;
}

Node chain_tree(int rank, int ranks) {
    Node node{.parent = rank - 1, .subtree = ranks - rank, .children = {}};
    if (rank + 1 < ranks) node.children.push_back({rank + 1, ranks - rank - 1});
    return node;
}

Node binary_tree(int rank, int ranks) {
    Node node{.parent = rank == 0 ? -1 : (rank - 1) / 2, .subtree = 1, .children = {}};
    for (int child = 2 * rank + 1; child <= 2 * rank + 2 && child < ranks; ++child) {
        int below = 0;
        // A level of the subtree is a stretch of numbers that doubles from one to the next.
        for (int first = child, width = 1; first < ranks; first = 2 * first + 1, width *= 2) {
            below += std::min(width, ranks - first);
        }
        node.children.push_back({child, below});
        node.subtree += below;
    }
    return node;
}

}  // namespace lanewise::collectives
