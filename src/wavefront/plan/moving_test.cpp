// SPDX-License-Identifier: BSD-3-Clause

#include "wavefront/plan/moving.hpp"

#include <gmock/gmock.h>

#include <array>

namespace lanewise::wavefront {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t mebi = 1 << 20;

// Strips of a mebibyte.
MatrixShape strips(std::uint64_t rows = 1024) {
    return {.rows = rows, .columns = 1024, .strip_rows = 128};
}

TEST(MovingTest, KeepsADiskBusyWhereMemoryIsNoConcern) {
    const std::array stores = {strips()};

    const auto tiles = plan_moving(stores, 1024 * mebi);

    ASSERT_TRUE(tiles) << tiles.failure().sentence;
    EXPECT_THAT(*tiles, ElementsAre(tiles_under_way(mebi)));
}

TEST(MovingTest, TakesNoMoreTilesThanABudgetHas) {
    const std::array stores = {strips()};

    const auto tiles = plan_moving(stores, 20 * mebi);

    ASSERT_TRUE(tiles) << tiles.failure().sentence;
    // The program has 12 MiB of it, the rows of a strip one, and a few bytes are checksums.
    EXPECT_THAT(*tiles, ElementsAre(6));
}

TEST(MovingTest, SharesABudgetBetweenTwoStores) {
    const std::array stores = {strips(), strips()};

    const auto tiles = plan_moving(stores, 23 * mebi);

    ASSERT_TRUE(tiles) << tiles.failure().sentence;
    EXPECT_THAT(*tiles, ElementsAre(4, 4));
}

TEST(MovingTest, NamesTheLeastThatWouldDo) {
    const std::array stores = {strips()};

    const auto tiles = plan_moving(stores, mebi);

    ASSERT_FALSE(tiles);
    EXPECT_THAT(tiles.failure().sentence,
                HasSubstr("budget of 1MiB is too small to move strips of this store; give it "
                          "--memory 16MiB or more"));
    EXPECT_TRUE(plan_moving(stores, 16 * mebi));
}

}  // namespace
}  // namespace lanewise::wavefront
