// SPDX-License-Identifier: BSD-3-Clause

#include "measure/ranks_of_groups.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::rank_of;
using testing::size_of;

constexpr std::uint64_t job = 7;
constexpr std::uint64_t task = 100; /* and the rank */

TEST(RanksOfGroups, CountThoseOfAJobAndThoseOfATask) {
    const int size = size_of(MPI_COMM_WORLD);
    const auto own = task + static_cast<std::uint64_t>(rank_of(MPI_COMM_WORLD));

    const auto ranks = ranks_of_groups({{2.0, job}, {1.0, own}}, MPI_COMM_WORLD);

    EXPECT_EQ(ranks, (RanksOfGroups{{job, size}, {own, 1}}));
}

TEST(RanksOfGroups, AreCountedWhereTheJobIsAtAnotherLevelOfSomeRanks) {
    const int rank = rank_of(MPI_COMM_WORLD);
    const auto own = task + static_cast<std::uint64_t>(rank);
    std::vector<GroupLimit> limits{{2.0, job}, {1.0, own}};
    if (rank % 2 == 1) std::swap(limits[0], limits[1]);

    const auto ranks = ranks_of_groups(limits, MPI_COMM_WORLD);

    EXPECT_EQ(ranks, (RanksOfGroups{{job, size_of(MPI_COMM_WORLD)}, {own, 1}}));
}

TEST(RanksOfGroups, AreCountedWhereOnlySomeRanksHaveALimit) {
    const bool limited = rank_of(MPI_COMM_WORLD) == 0;
    const std::vector<GroupLimit> limits(limited ? 1 : 0, {1.0, job});

    const auto ranks = ranks_of_groups(limits, MPI_COMM_WORLD);

    EXPECT_EQ(ranks, limited ? (RanksOfGroups{{job, 1}}) : RanksOfGroups{});
}

TEST(RanksOfGroups, AreTooManyWhereOneOfTheirGroupsHasFewerProcessors) {
    EXPECT_FALSE(are_too_many({}, {}));
    EXPECT_FALSE(are_too_many({{4.0, job}, {1.0, task}}, {{job, 4}, {task, 1}}));
    EXPECT_TRUE(are_too_many({{2.0, job}, {1.0, task}}, {{job, 4}, {task, 1}}));
    EXPECT_TRUE(are_too_many({{0.5, task}}, {{task, 1}}));
}

TEST(RanksOfGroups, ShareTheMemoryOfEachGroup) {
    EXPECT_EQ(share_of({}, {}, 4), std::numeric_limits<double>::infinity());
    EXPECT_EQ(share_of({{8.0, job}, {4.0, task}}, {{job, 4}, {task, 1}}, 4), 2.0);
    EXPECT_EQ(share_of({{8.0, job}, {1.0, task}}, {{job, 4}, {task, 1}}, 4), 1.0);
    EXPECT_EQ(share_of({{8.0, job}}, {}, 4), 2.0) << "a limit that has come since";
}

}  // namespace
}  // namespace lanewise::measure
