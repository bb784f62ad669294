// SPDX-License-Identifier: BSD-3-Clause
//
// The paper's block wavefront gives the bits of the sequential loop too, in each
// layout, chained or flushed.

#include "experiments/wavefront/block_wavefront.hpp"

#include <gtest/gtest.h>

#include <random>

#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using testing::Matrices;
using testing::Medium;

TEST(BlockWavefrontTest, EqualsTheSequentialLoop) {
    for (std::uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
        std::mt19937_64 random(seed);
        const auto between = [&](std::uint64_t low, std::uint64_t high) {
            return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
        };
        const Folder folder(Medium::memory);
        const BlockRun run{.folder = folder / ".",
                           .data = {.rows = between(1, 50),
                                    .columns = between(1, 50),
                                    .block_rows = between(1, 20),
                                    .block_columns = between(1, 20),
                                    .layout = static_cast<BlockLayout>(between(0, 2))},
                           .iterations = between(1, 5),
                           .threads = static_cast<std::uint32_t>(between(1, 4)),
                           .chaining = between(0, 1) ? Chaining::chained : Chaining::flushed};
        SCOPED_TRACE(seed);
        Matrices<double> expected{run.data.rows, run.data.columns, {}};
        for (std::uint32_t m = 0; m < 6; ++m) {
            std::vector<double> values(run.data.rows * run.data.columns);
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = 0.25 * demo_value(seed, m, i, 1, 0);
            ASSERT_TRUE(write_blocks(run, m, values.data()));
            expected.values.push_back(values);
        }
        for (std::uint64_t i = 0; i < run.iterations; ++i) testing::livermore23(expected);

        const auto report = run_blocks(run);

        ASSERT_TRUE(report) << report.failure().sentence;
        std::vector<double> found(expected.values[0].size());
        ASSERT_TRUE(read_blocks(run, 0, found.data()));
        EXPECT_EQ(found, expected.values[0]);
    }
}

TEST(BlockWavefrontTest, AMissingMatrixIsNamed) {
    const Folder folder(Medium::memory);
    const BlockRun run{.folder = folder / ".",
                       .data = {.rows = 4, .columns = 4, .block_rows = 2, .block_columns = 2}};

    const auto report = run_blocks(run);

    ASSERT_FALSE(report);
    EXPECT_NE(report.failure().sentence.find("data.blocks"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::wavefront
