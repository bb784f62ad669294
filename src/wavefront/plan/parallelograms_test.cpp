// SPDX-License-Identifier: BSD-3-Clause
//
// Windows of parallelograms fit together whatever the shape, and parallelograms keep to the budget.

#include "wavefront/plan/parallelograms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "wavefront/plan/plan.hpp"

namespace lanewise::wavefront {
namespace {

using ::testing::HasSubstr;

Request long_rows(std::uint64_t rows, std::uint64_t columns, std::uint64_t memory_bytes) {
    Request request;
    request.shape = {.rows = rows,
                     .columns = columns,
                     .coefficient_count = 5,
                     .layout = &layouts::skewed,
                     .strip_rows = 8,
                     .tile_columns = 1024};
    request.iterations = 64;
    request.memory_bytes = memory_bytes;
    request.threads = 2;
    request.cache_bytes = 1 << 20;
    return request;
}

TEST(ParallelogramsTest, WindowsOfNeighbouringParallelogramsFitTogether) {
    std::mt19937_64 random(3);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    for (int trial = 0; trial < 300; ++trial) {
        const MatrixShape shape{.rows = between(1, 200),
                                .columns = between(1, 300),
                                .layout = &layouts::skewed,
                                .strip_rows = 8 * between(1, 4),
                                .tile_columns = between(1, 64),
                                .skew = between(1, 3)};
        const auto width = shape.tile_columns * between(1, 9);
        const ParallelogramGeometry geometry(shape, static_cast<std::uint32_t>(between(1, 7)),
                                             between(1, 40), width);
        for (std::uint64_t s = 0; s < shape.strip_count(); ++s) {
            std::uint64_t done = 0;
            std::uint64_t carried = 0;
            std::uint64_t known = 0;
            for (std::uint64_t p = 0; p < geometry.parallelograms(); ++p) {
                const auto window = geometry.window(s, p);
                EXPECT_EQ(window.done_tiles[0], done);
                EXPECT_GE(window.done_tiles[1], done);
                done = window.done_tiles[1];
                EXPECT_EQ(window.carried_in(), carried);
                carried = window.carried_out();
                EXPECT_EQ(window.known_end, known);
                known = window.end;
                EXPECT_LE(window.vectors(), geometry.window_vectors_max());
                EXPECT_LE(carried, geometry.carried_vectors_max());
                EXPECT_LE(window.data_tiles[1] - window.data_tiles[0], geometry.tiles_max());
                EXPECT_LE(window.coefficient_tiles[1] - window.coefficient_tiles[0],
                          geometry.tiles_max());
                EXPECT_LE(done - window.done_tiles[0], geometry.tiles_max());
            }
            EXPECT_EQ(done, shape.tiles_in_strip());
            EXPECT_EQ(known, shape.row_elements());
            EXPECT_EQ(carried, 0u);
        }
    }
}

TEST(ParallelogramsTest, LongRowsAreSweptWithManyWavesAPassInLittleMemory) {
    constexpr std::uint64_t million = 1 << 20;
    auto whole = long_rows(4096, 4 * million, std::uint64_t{1} << 30);
    whole.shape.tile_columns = 0;
    EXPECT_FALSE(make_plan(whole));

    const auto plan = make_plan(long_rows(4096, 4 * million, std::uint64_t{1} << 30));

    ASSERT_TRUE(plan) << plan.failure().sentence;
    EXPECT_GE(plan->waves, 32u);
    EXPECT_GT(plan->parallelograms, 1u);
    EXPECT_LE(plan->memory_bytes, std::uint64_t{1} << 30);
    // Each byte is read a little more than once in a pass.
    const double once = 56.0 * 4096 * 4.0 * million * static_cast<double>(plan->passes);
    EXPECT_LT(static_cast<double>(plan->read_bytes + plan->written_bytes), 1.25 * once);
}

TEST(ParallelogramsTest, TooSmallABudgetIsNamedAndTheNamedOneWorks) {
    auto request = long_rows(512, 1 << 20, 1 << 20);

    const auto refused = make_plan(request);

    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.failure().sentence, HasSubstr("give it --memory "));
    const auto at = refused.failure().sentence.find("--memory ") + 9;
    request.memory_bytes = std::stoull(refused.failure().sentence.substr(at)) << 20;
    const auto plan = make_plan(request);
    ASSERT_TRUE(plan) << plan.failure().sentence;
    EXPECT_LE(plan->memory_bytes, request.memory_bytes);
}

}  // namespace
}  // namespace lanewise::wavefront
