// SPDX-License-Identifier: BSD-3-Clause
//
// Tree: who sends to whom. Nodes are numbered from the root, which is 0.

#pragma once

#include <vector>

namespace lanewise::collectives {

struct Child {
    int rank = 0;
    int subtree = 1; /* nodes below it, itself included */
};

struct Node {
    int parent = -1;
    int subtree = 1;
    std::vector<Child> children; /* in the order in which they are served */
};

/* Node r's subtree is r, r+1, ..., r+subtree-1; the largest child comes first. */
Node binomial_tree(int rank, int ranks);
/* The size of the subtree alone, and the parent of a node that is not the root. */
int binomial_subtree(int rank, int ranks);
int binomial_parent(int rank);

/* The same with numbers in base `radix`, 2 or more: a parent sets the last digits that are 0 in its
   number, one at a time, and has up to radix - 1 children for each; radix 2 is the binomial tree.
   Children of the same level follow one another. */
Node knomial_tree(int rank, int ranks, int radix);

/* Everyone is a child of the root. */
Node star_tree(int rank, int ranks);

/* Each node has the next as its child. */
Node chain_tree(int rank, int ranks);

/* The children of r are 2r+1 and 2r+2. */
Node binary_tree(int rank, int ranks);

}  // namespace lanewise::collectives
