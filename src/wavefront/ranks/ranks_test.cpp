// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep over parts on ranks leaves the bits of the sequential loop: random
// shapes, waves, threads and layouts, whole rows and parallelograms of tiles.

#include "wavefront/ranks/rank_run.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <random>

#include "wavefront/store/parts.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using testing::Medium;

struct Job {
    int rank = 0;
    int ranks = 1;
    Job() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
};

// A folder that rank 0 makes and all use.
std::string shared_folder(const Folder& own) {
    std::string name = own / "";
    name.resize(256);
    MPI_Bcast(name.data(), 256, MPI_CHAR, 0, MPI_COMM_WORLD);
    return name.c_str();
}

std::vector<std::string> part_names(const std::string& folder, int ranks) {
    std::vector<std::string> names;
    for (int r = 0; r < ranks; ++r) names.push_back(folder + "part." + std::to_string(r));
    return names;
}

struct Trial {
    MatrixShape shape;
    std::string kernel;
    RankRun run;
};

Trial draw(std::uint64_t seed, int ranks) {
    std::mt19937_64 random(seed);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    const auto kernels = testing::kernels_of_rows();
    const auto& info = kernels[seed % kernels.size()];
    Trial trial;
    trial.kernel = info.name;
    const auto *const layout = store_layouts()[between(0, store_layouts().size() - 1)];
    trial.shape = {.rows = between(5 * static_cast<std::uint64_t>(ranks), 150),
                   .columns = between(1, 40),
                   .coefficient_count = info.coefficient_count,
                   .layout = layout,
                   .strip_rows = layout == &layouts::skewed ? 8 * between(1, 3) : between(2, 20)};
    trial.run.kernel = trial.kernel;
    trial.run.options.iterations = between(1, 25);
    trial.run.options.waves = between(1, 9);
    trial.run.options.threads = static_cast<std::uint32_t>(between(1, 2));
    // Every other round of the kernels goes over parallelograms, narrow ones too.
    if (seed / kernels.size() % 2 == 0) return trial;
    if (trial.shape.strip_rows <= info.radius) ++trial.shape.strip_rows;
    trial.shape.columns = between(16, 120);
    trial.shape.tile_columns = between(16, trial.shape.columns);
    trial.run.options.parallelogram_vectors = trial.shape.tile_columns * between(1, 3);
    return trial;
}

Result<Store> make_whole(const std::string& folder, const Trial& trial, std::uint64_t seed) {
    std::vector<std::string> names{"u"};
    for (std::uint32_t m = 0; m < trial.shape.coefficient_count; ++m)
        names.push_back(std::string("c").append(std::to_string(m)));
    auto store = Store::create(folder + "whole", trial.shape, names, {});
    if (!store) return store;
    const auto filled = fill_with_demo_values(*store, seed);
    if (!filled) return filled.failure();
    return store;
}

double largest_change(const std::vector<double>& before, const std::vector<double>& after) {
    double change = 0.0;
    for (std::size_t i = 0; i < before.size(); ++i)
        change = std::max(change, std::abs(after[i] - before[i]));
    return change;
}

// Iterations that the loop takes until no cell changes by more than the tolerance.
std::uint64_t iterations_to_rest(const std::string& kernel, testing::Matrices<double>& matrices,
                                 double tolerance, std::uint64_t most) {
    for (std::uint64_t n = 1; n <= most; ++n) {
        const auto before = matrices.values[0];
        testing::sweep(kernel, matrices);
        if (largest_change(before, matrices.values[0]) <= tolerance) return n;
    }
    return most;
}

// What rank 0 expects after `iterations`, and the parts that all ranks work on.
std::vector<double> prepare(const std::string& folder, const Trial& trial, std::uint64_t seed,
                            std::uint64_t iterations, int ranks) {
    auto whole = make_whole(folder, trial, seed);
    EXPECT_TRUE(whole) << whole.failure().sentence;
    const auto split =
        split_store(*whole, kernel_info(trial.kernel)->radius, part_names(folder, ranks));
    EXPECT_TRUE(split) << split.failure().sentence;
    auto expected = testing::load<double>(*whole);
    for (std::uint64_t i = 0; i < iterations; ++i) testing::sweep(trial.kernel, expected);
    return expected.values[0];
}

std::vector<double> join(const std::string& folder, const std::string& name, int ranks) {
    const auto joined = join_stores(part_names(folder, ranks), folder + name);
    EXPECT_TRUE(joined) << joined.failure().sentence;
    const auto store = Store::open(folder + name, Access::reading);
    return testing::load<double>(*store).values[0];
}

TEST(RanksTest, AllRanksTogetherEqualTheSequentialLoop) {
    const Job job;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const Folder own(Medium::memory);
        const auto folder = shared_folder(own);
        auto trial = draw(seed, job.ranks);
        SCOPED_TRACE(seed);
        std::vector<double> expected;
        if (job.rank == 0)
            expected = prepare(folder, trial, seed, trial.run.options.iterations, job.ranks);
        MPI_Barrier(MPI_COMM_WORLD);
        trial.run.folder = part_names(folder, job.ranks)[static_cast<std::size_t>(job.rank)];

        const auto report = run_rank(MPI_COMM_WORLD, trial.run);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_EQ(report->iterations, trial.run.options.iterations);
        MPI_Barrier(MPI_COMM_WORLD);
        if (job.rank == 0) {
            EXPECT_EQ(join(folder, "joined", job.ranks), expected);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST(RanksTest, AllRanksStopWhereTheSequentialLoopComesToRest) {
    const Job job;
    constexpr double tolerance = 1e-3;
    constexpr std::uint64_t most = 400;
    // The last two go over parallelograms, the last of them with Jacobi's kernel.
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 11u}) {
        const Folder own(Medium::memory);
        const auto folder = shared_folder(own);
        auto trial = draw(seed, job.ranks);
        trial.run.options.iterations = most;
        trial.run.options.tolerance = tolerance;
        SCOPED_TRACE(seed);
        std::vector<double> expected;
        std::uint64_t iterations = 0;
        if (job.rank == 0) {
            prepare(folder, trial, seed, 0, job.ranks);
            const auto whole = Store::open(folder + "whole", Access::reading);
            auto matrices = testing::load<double>(*whole);
            iterations = iterations_to_rest(trial.kernel, matrices, tolerance, most);
            expected = matrices.values[0];
        }
        MPI_Bcast(&iterations, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        trial.run.folder = part_names(folder, job.ranks)[static_cast<std::size_t>(job.rank)];

        const auto report = run_rank(MPI_COMM_WORLD, trial.run);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_EQ(report->iterations, iterations);
        EXPECT_EQ(report->converged, iterations < most);
        MPI_Barrier(MPI_COMM_WORLD);
        if (job.rank == 0) {
            EXPECT_EQ(join(folder, "joined", job.ranks), expected);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

}  // namespace
}  // namespace lanewise::wavefront
