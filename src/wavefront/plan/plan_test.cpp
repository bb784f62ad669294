// SPDX-License-Identifier: BSD-3-Clause
//
// The plan against the arithmetic of its head, and against what it must refuse.

#include "wavefront/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lanewise::wavefront {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t gibibyte = 1 << 30;

Request livermore(std::uint64_t side, const Layout *layout) {
    Request request;
    request.shape = {.rows = side, .columns = side, .coefficient_count = 5, .layout = layout};
    request.shape.strip_rows = default_strip_rows(request.shape);
    request.disk_layout = layout;
    request.iterations = 64;
    request.memory_bytes = 2 * gibibyte;
    request.threads = 2;
    return request;
}

TEST(PlanTest, ThePapersProblemTakesOnePassFor64IterationsIn2GiB) {
    const auto plan = make_plan(livermore(16384, &layouts::skewed));

    ASSERT_TRUE(plan) << plan.failure().sentence;
    EXPECT_EQ(plan->waves, 64u);
    EXPECT_EQ(plan->passes, 1u);
    EXPECT_LE(plan->memory_bytes, 2 * gibibyte);
}

TEST(PlanTest, BytesAre56PerCellAndPass) {
    auto request = livermore(16384, &layouts::row_major);
    request.waves = 16;

    const auto plan = make_plan(request);

    ASSERT_TRUE(plan) << plan.failure().sentence;
    const double cells = 16384.0 * 16384.0;
    EXPECT_DOUBLE_EQ(static_cast<double>(plan->read_bytes + plan->written_bytes),
                     56.0 * cells * 64.0 / 16.0);
}

TEST(PlanTest, NoMoreStripsAreInTransferThanKeepTheDisksBusy) {
    auto request = livermore(8192, &layouts::skewed);
    request.waves = 1;
    const auto one_disk = make_plan(request);
    request.disks = 2;
    const auto two_disks = make_plan(request);
    request.shape.coefficient_count = 0;
    const auto small_strips = make_plan(request);

    // Two are worked on, and one is written behind them; the others, of 6 MiB each, are read.
    EXPECT_EQ(one_disk->buffers, 3u + 2u);
    EXPECT_EQ(two_disks->buffers, 3u + 3u);
    EXPECT_EQ(small_strips->buffers, 3u + 4u);
}

TEST(PlanTest, CountsTheMemoryOfEachThread) {
    const auto shape = livermore(16384, &layouts::row_major).shape;

    EXPECT_EQ(own_memory_bytes(shape, 10), own_memory_bytes(shape, 2) + 8 * mebibyte / 4);
}

TEST(PlanTest, CountsCoefficientsByRowAndByColumn) {
    auto request = livermore(16384, &layouts::row_major);
    const auto without = make_plan(request);
    request.shape.row_coefficient_count = 3;
    request.shape.column_coefficient_count = 2;

    const auto with = make_plan(request);

    ASSERT_TRUE(with && without);
    EXPECT_EQ(with->memory_bytes_min, without->memory_bytes_min + 5 * 16384 * 8);
    EXPECT_EQ(with->read_bytes, without->read_bytes);
}

TEST(PlanTest, NamesTheSmallestBudgetAndThatBudgetWorks) {
    auto request = livermore(8192, &layouts::skewed);
    request.memory_bytes = mebibyte;

    const auto refused = make_plan(request);

    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.failure().sentence,
                HasSubstr("budget of 1MiB is too small for this store; give it --memory 37MiB"));
    request.memory_bytes = 37 * mebibyte;
    EXPECT_TRUE(make_plan(request));
}

TEST(PlanTest, IsDiskBoundBelowTheBreakEvenAndKernelBoundAbove) {
    auto request = livermore(16384, &layouts::row_major);
    request.rates = {.read_bytes_per_s = 1e9, .write_bytes_per_s = 2e9, .cells_per_s = 200e6};

    request.waves = 4;
    const auto below = make_plan(request);
    request.waves = 16;
    const auto above = make_plan(request);

    ASSERT_TRUE(below && above);
    EXPECT_EQ(below->waves_to_hide_disk, 11u);  // 200e6 (48/1e9 + 8/2e9) = 10.4
    EXPECT_TRUE(below->disk_bound);
    EXPECT_FALSE(above->disk_bound);
}

TEST(PlanTest, RoundingOfRatesAddsNoWave) {
    auto request = livermore(16384, &layouts::row_major);
    request.rates = {.read_bytes_per_s = 1.5e9, .write_bytes_per_s = 2e9, .cells_per_s = 500e6};

    const auto plan = make_plan(request);

    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->waves_to_hide_disk, 18u);  // 500e6 (48/1.5e9 + 8/2e9)
}

TEST(PlanTest, SaysWhatTurningCosts) {
    auto request = livermore(1024, &layouts::row_major);
    request.waves = 16;
    const auto one_way = make_plan(request);
    request.directions = *parse_directions("symmetric");
    const auto symmetric = make_plan(request);
    request.directions = *parse_directions("fast-sweeping");
    const auto fast = make_plan(request);

    ASSERT_TRUE(one_way && symmetric && fast);
    EXPECT_EQ(one_way->passes, 4u);
    EXPECT_EQ(one_way->chain, 0u);
    EXPECT_EQ(symmetric->passes, 64u);
    EXPECT_EQ(symmetric->chain, 1u);
    EXPECT_GT(symmetric->kept_strips, 0u);
    EXPECT_EQ(symmetric->read_bytes, 16 * one_way->read_bytes - 63 * symmetric->kept_strips *
                                                                    request.shape.matrix_count() *
                                                                    strip_bytes(request.shape));
    EXPECT_EQ(fast->passes, 32u);
    EXPECT_EQ(fast->chain, 2u);
    EXPECT_EQ(fast->waves, 2u);
}

TEST(PlanTest, RefusesMoreIterationsOrThreadsThanThereCanBe) {
    auto request = livermore(64, &layouts::row_major);
    request.iterations = (std::uint64_t{1} << 40) + 1;
    const auto endless = make_plan(request);
    request.iterations = 1;
    request.threads = 100'000;
    const auto crowded = make_plan(request);

    ASSERT_FALSE(endless);
    EXPECT_THAT(endless.failure().sentence, HasSubstr("iterations are too many"));
    ASSERT_FALSE(crowded);
    EXPECT_THAT(crowded.failure().sentence, HasSubstr("threads are too many"));
}

TEST(PlanTest, RefusesARadiusGreaterThanAStrip) {
    auto request = livermore(64, &layouts::row_major);
    request.shape.strip_rows = 2;
    request.radius = 3;

    const auto plan = make_plan(request);

    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.failure().sentence, HasSubstr("--strip-rows 3"));
}

TEST(PlanTest, TheSmallestBudgetHoldsTheWavesThatAreAskedFor) {
    for (const std::uint64_t tile_columns : {0U, 512U}) {
        for (const std::uint64_t waves : {1U, 3U, 64U}) {
            auto request = livermore(4096, &layouts::row_major);
            request.shape.tile_columns = tile_columns;
            request.iterations = 64;
            request.waves = waves;
            request.memory_bytes = 4096 * mebibyte;
            request.memory_bytes = make_plan(request)->memory_bytes_min;

            const auto enough = make_plan(request);
            request.memory_bytes -= 1;

            EXPECT_TRUE(enough) << waves;
            EXPECT_FALSE(make_plan(request)) << waves;
        }
    }
}

TEST(PlanTest, RefusesMoreWavesThanTheBudgetHoldsAndSaysWhatTheyNeed) {
    auto request = livermore(16384, &layouts::skewed);
    request.memory_bytes = 128 * mebibyte;
    request.waves = 64;

    const auto plan = make_plan(request);

    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.failure().sentence, HasSubstr("64 waves need --memory"));

    // A part whose passes have more waves than there are iterations left.
    request.iterations = 32;
    const auto shorter = make_plan(request);
    ASSERT_FALSE(shorter);
    EXPECT_THAT(shorter.failure().sentence, HasSubstr("32 waves need --memory"));
}

TEST(PlanTest, ARowBlockOfAGroupFitsIntoTheCache) {
    auto request = livermore(4096, &layouts::skewed);
    request.cache_bytes = mebibyte;

    const auto plan = make_plan(request);

    ASSERT_TRUE(plan) << plan.failure().sentence;
    EXPECT_EQ(plan->tiling.groups, 4u);
    EXPECT_EQ(plan->tiling.rounds, 16u);
    EXPECT_LE(16 * 6 * plan->tiling.column_block * 64, mebibyte);
    EXPECT_GE(plan->tiling.column_block, 64u);
}

TEST(PlanTest, GivesUpTilesWhereTheBudgetHoldsMoreWavesWithoutThem) {
    auto request = livermore(16384, &layouts::skewed);
    request.cache_bytes = mebibyte;
    request.waves = 64;
    request.memory_bytes = 600 * mebibyte;

    const auto plan = make_plan(request);

    ASSERT_TRUE(plan) << plan.failure().sentence;
    EXPECT_EQ(plan->waves, 64u);
    EXPECT_EQ(plan->tiling.rounds, 1u);
}

TEST(PlanTest, NeverExceedsTheBudget) {
    for (std::uint64_t side : {7u, 64u, 1000u, 8192u, 50000u}) {
        for (std::uint64_t budget = 20 * mebibyte; budget < 4 * gibibyte; budget += budget / 3) {
            auto request = livermore(side, &layouts::skewed);
            request.memory_bytes = budget;
            request.cache_bytes = budget % 2 ? mebibyte : 0;
            const auto plan = make_plan(request);
            EXPECT_LE(plan ? plan->memory_bytes : 0, budget) << side;
        }
    }
}

}  // namespace
}  // namespace lanewise::wavefront
