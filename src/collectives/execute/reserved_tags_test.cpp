// SPDX-License-Identifier: BSD-3-Clause
//
// Tags that ranks take together and give back each on its own.

#include "collectives/execute/reserved_tags.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "testing/ranks.hpp"

namespace lanewise::collectives {
namespace {

using testing::rank_of;
using testing::size_of;

constexpr int first = 100;
constexpr int count = 70; /* more than a word of bits */

void take_all(ReservedTags& tags) {
    for (int tag = first; tag < first + count; ++tag) ASSERT_EQ(tags.take(MPI_COMM_WORLD), tag);
}

TEST(ReservedTags, EachIsTakenOnceUntilNoneIsLeft) {
    ReservedTags tags(first, count);

    take_all(tags);

    EXPECT_LT(tags.take(MPI_COMM_WORLD), 0);
    EXPECT_LT(tags.take(MPI_COMM_WORLD), 0);
}

TEST(ReservedTags, OneThatWasGivenBackIsTakenAgainWhenAllOthersWere) {
    ReservedTags tags(first, count);
    ASSERT_EQ(tags.take(MPI_COMM_WORLD), first);
    tags.give_back(first);

    for (int tag = first + 1; tag < first + count; ++tag) {
        ASSERT_EQ(tags.take(MPI_COMM_WORLD), tag);
    }
    EXPECT_EQ(tags.take(MPI_COMM_WORLD), first);
    EXPECT_LT(tags.take(MPI_COMM_WORLD), 0);
}

TEST(ReservedTags, OneThatASingleRankStillUsesIsTakenByNone) {
    ReservedTags tags(first, count);
    take_all(tags);
    const int kept = first + 66;
    const int freed = first + 69;

    if (rank_of(MPI_COMM_WORLD) != size_of(MPI_COMM_WORLD) - 1) tags.give_back(kept);
    tags.give_back(freed);

    EXPECT_EQ(tags.take(MPI_COMM_WORLD), freed);
    EXPECT_LT(tags.take(MPI_COMM_WORLD), 0);
    if (rank_of(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1) tags.give_back(kept);
    EXPECT_EQ(tags.take(MPI_COMM_WORLD), kept);
}

}  // namespace
}  // namespace lanewise::collectives
