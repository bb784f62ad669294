// SPDX-License-Identifier: BSD-3-Clause
//
// The layouts against Clauss, Gustedt and Suter (PDP 2008): where elements lie, what they cost, and
// that nothing is lost on the way there and back.

#include "wavefront/layout/blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace lanewise::wavefront {
namespace {

using ::testing::ElementsAre;

std::vector<double> counted(std::uint64_t elements) {
    std::vector<double> values(elements);
    std::iota(values.begin(), values.end(), 0.0);
    return values;
}

TEST(BlocksTest, AFrontierBlockIsTopLeftInteriorRightBottom) {
    const BlockShape shape{.rows = 4,
                           .columns = 4,
                           .block_rows = 4,
                           .block_columns = 4,
                           .layout = BlockLayout::frontier};
    const auto rows = counted(16);
    std::vector<double> band(row_of_blocks_elements(shape, 0));

    pack_row_of_blocks(shape, rows.data(), 4, band.data());

    EXPECT_THAT(band,
                ElementsAre(0, 1, 2, 3, 0, 4, 8, 12, 5, 6, 9, 10, 3, 7, 11, 15, 12, 13, 14, 15));
}

TEST(BlocksTest, ABlockIsOnePiece) {
    const BlockShape shape{
        .rows = 2, .columns = 5, .block_rows = 2, .block_columns = 2, .layout = BlockLayout::block};
    const auto rows = counted(10);
    std::vector<double> band(row_of_blocks_elements(shape, 0));

    pack_row_of_blocks(shape, rows.data(), 2, band.data());

    EXPECT_THAT(band, ElementsAre(0, 1, 5, 6, 2, 3, 7, 8, 4, 9));
}

TEST(BlocksTest, TheOverheadIsThatOfTable1) {
    const std::pair<std::uint64_t, std::uint64_t> table[] = {
        {4096, 512}, {512, 32 << 10}, {64, 2 << 20}, {8, 128 << 20}};
    for (const auto& [side, overhead_bytes] : table) {
        const BlockShape shape{.rows = 16384,
                               .columns = 16384,
                               .block_rows = side,
                               .block_columns = side,
                               .layout = BlockLayout::frontier};

        EXPECT_EQ((layout_elements(shape) - std::uint64_t{16384} * 16384) * 8, overhead_bytes);
    }
}

TEST(BlocksTest, NothingIsLostThereAndBack) {
    std::mt19937_64 random(1);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    for (int trial = 0; trial < 500; ++trial) {
        const BlockShape shape{.rows = between(1, 40),
                               .columns = between(1, 40),
                               .block_rows = between(1, 20),
                               .block_columns = between(1, 20),
                               .radius = between(1, 3),
                               .layout = static_cast<BlockLayout>(between(0, 2))};
        const auto values = counted(shape.rows * shape.columns);
        std::vector<double> back(values.size(), -1.0);

        for (std::uint64_t row = 0; row < shape.rows; row += shape.block_rows) {
            const auto count = std::min(shape.block_rows, shape.rows - row);
            std::vector<double> band(row_of_blocks_elements(shape, row));
            pack_row_of_blocks(shape, values.data() + row * shape.columns, count, band.data());
            unpack_row_of_blocks(shape, band.data(), count, back.data() + row * shape.columns);
        }

        EXPECT_EQ(back, values);
    }
}

}  // namespace
}  // namespace lanewise::wavefront
