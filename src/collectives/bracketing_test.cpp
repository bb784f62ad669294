// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/bracketing.hpp"

#include <gtest/gtest.h>

#include <string>

#include "collectives/balanced_choice.hpp"

namespace lanewise::collectives {
namespace {

std::string bracketed(int ranks) {
    std::vector<std::string> names;
    for (int rank = 0; rank < ranks; ++rank) names.push_back(std::to_string(rank));
    return fold_balanced(names, [](const std::string& left, const std::string& right) {
        return "(" + left + " " + right + ")";
    });
}

TEST(BracketingTest, CombinesNeighboursAndWhereNeededTheFirstPairsBeforehand) {
    EXPECT_EQ(bracketed(1), "0");
    EXPECT_EQ(bracketed(2), "(0 1)");
    EXPECT_EQ(bracketed(3), "((0 1) 2)");
    EXPECT_EQ(bracketed(4), "((0 1) (2 3))");
    EXPECT_EQ(bracketed(5), "(((0 1) 2) (3 4))");
    EXPECT_EQ(bracketed(6), "(((0 1) (2 3)) (4 5))");
    EXPECT_EQ(bracketed(7), "(((0 1) (2 3)) ((4 5) 6))");
    EXPECT_EQ(bracketed(8), "(((0 1) (2 3)) ((4 5) (6 7)))");
}

TEST(BracketingTest, WhatIsChosenUnmeasuredIsInTheBracketing) {
    for (const auto collective :
         {Collective::reduce, Collective::allreduce, Collective::reduce_scatter}) {
        for (const int ranks : {2, 3, 4, 33, 64, 1000, 1024}) {
            for (const std::uint64_t bytes : {0U, 8U, 1U << 14, 1U << 15, 1U << 19, 1U << 30}) {
                const auto *chosen = balanced_choice(collective, ranks, bytes);
                ASSERT_TRUE(chosen) << name_of(collective) << ", " << bytes << " bytes";
                EXPECT_EQ(chosen->bracketing, Bracketing::balanced);
                EXPECT_EQ(refusal(*chosen, {.ranks = ranks, .commutative = false}), "");
            }
        }
    }
}

TEST(BracketingTest, TwoRanksSendWholeVectorsUpToAQuarterOfAMebibyteAndLongOnesInPieces) {
    const auto chosen = [](Collective collective, std::uint64_t bytes) {
        return std::string(balanced_choice(collective, 2, bytes)->name);
    };
    constexpr std::uint64_t quarter = 256 * 1024;
    constexpr std::uint64_t mebibyte = 1024 * 1024;

    EXPECT_EQ(chosen(Collective::allreduce, quarter), "recursive_doubling");
    EXPECT_EQ(chosen(Collective::allreduce, quarter + 1), "rabenseifner");
    EXPECT_EQ(chosen(Collective::allreduce, mebibyte), "rabenseifner");
    EXPECT_EQ(chosen(Collective::allreduce, mebibyte + 1), "direct");
    EXPECT_EQ(chosen(Collective::reduce, quarter), "binomial");
    EXPECT_EQ(chosen(Collective::reduce, quarter + 1), "direct");
}

}  // namespace
}  // namespace lanewise::collectives
