// SPDX-License-Identifier: BSD-3-Clause
//
// k-nomial trees of all radices, exhaustively on up to 16 ranks.

#include "collectives/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanewise::collectives {
namespace {

constexpr int ranks_max = 16;

template <typename Check>
void for_each_tree(const Check& check) {
    for (int radix = 2; radix <= ranks_max + 1; ++radix) {
        for (int ranks = 1; ranks <= ranks_max; ++ranks) {
            SCOPED_TRACE(::testing::Message() << "radix " << radix << ", " << ranks << " ranks");
            check(radix, ranks);
        }
    }
}

/* Rounds until a node has been served, each of whose rounds serves radix - 1 children. */
int round_of(int rank, int radix) {
    int rounds = 0;
    for (; rank > 0; rank /= radix) ++rounds;
    return rounds;
}

TEST(KnomialTree, HasEveryRankBelowItsParentOnce) {
    for_each_tree([](int radix, int ranks) {
        std::vector<int> parents(static_cast<std::size_t>(ranks), -1);
        for (int rank = 0; rank < ranks; ++rank) {
            for (const auto& child : knomial_tree(rank, ranks, radix).children) {
                auto& parent = parents.at(static_cast<std::size_t>(child.rank));
                EXPECT_EQ(parent, -1) << child.rank;
                parent = rank;
            }
        }
        for (int rank = 0; rank < ranks; ++rank) {
            EXPECT_EQ(knomial_tree(rank, ranks, radix).parent,
                      parents[static_cast<std::size_t>(rank)]);
        }
    });
}

TEST(KnomialTree, HasSubtreesThatAreRowsOfRanks) {
    for_each_tree([](int radix, int ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            const auto node = knomial_tree(rank, ranks, radix);
            int below = 1;
            for (const auto& child : node.children) {
                EXPECT_EQ(child.subtree, knomial_tree(child.rank, ranks, radix).subtree);
                below += child.subtree;
            }
            EXPECT_EQ(node.subtree, below);
            auto children = node.children;
            std::sort(children.begin(), children.end(),
                      [](const Child& a, const Child& b) { return a.rank < b.rank; });
            int next = rank + 1;
            for (const auto& child : children) {
                EXPECT_EQ(child.rank, next);
                next += child.subtree;
            }
        }
    });
}

TEST(KnomialTree, GivesANodeNoMoreChildrenInARoundThanItsRadixAllows) {
    for_each_tree([](int radix, int ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            std::vector<int> in_round(static_cast<std::size_t>(ranks_max) + 1);
            for (const auto& child : knomial_tree(rank, ranks, radix).children) {
                const int round = round_of(child.rank - rank, radix);
                EXPECT_LT(++in_round[static_cast<std::size_t>(round)], radix);
            }
        }
    });
}

TEST(KnomialTree, OfRadixTwoIsTheBinomialTree) {
    for (int ranks = 1; ranks <= 64; ++ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            const auto binomial = binomial_tree(rank, ranks);
            const auto node = knomial_tree(rank, ranks, 2);
            EXPECT_EQ(node.parent, binomial.parent);
            EXPECT_EQ(node.subtree, binomial.subtree);
            ASSERT_EQ(node.children.size(), binomial.children.size());
            for (std::size_t i = 0; i < node.children.size(); ++i) {
                EXPECT_EQ(node.children[i].rank, binomial.children[i].rank);
                EXPECT_EQ(node.children[i].subtree, binomial.children[i].subtree);
            }
        }
    }
}

TEST(KnomialTree, OfAsManyRanksAsItsRadixIsTheStar) {
    for (int ranks = 2; ranks <= ranks_max; ++ranks) {
        const auto node = knomial_tree(0, ranks, ranks);
        const auto star = star_tree(0, ranks);
        ASSERT_EQ(node.children.size(), star.children.size());
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            EXPECT_EQ(node.children[i].rank, star.children[i].rank);
        }
    }
}

TEST(KnomialTree, OfARankBeyondAllPowersOfItsRadixInAnIntIsBuilt) {
    constexpr int ranks = 2'000'000'000;
    EXPECT_EQ(knomial_tree(0, ranks, 8).children.front().rank, 1 << 30);
}

}  // namespace
}  // namespace lanewise::collectives
