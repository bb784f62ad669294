// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep over parts on ranks leaves the bits of the sequential loop: random
// shapes, waves, threads and layouts, whole rows and parallelograms of tiles, built-in kernels and
// updates of one and several matrices.

#include "wavefront/ranks/rank_run.hpp"

#include <lanewise/wavefront_ranks.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "testing/cases.hpp"
#include "wavefront/api/handle.hpp"
#include "wavefront/ranks/mpi_halo_exchange.hpp"
#include "wavefront/store/parts.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using lanewise::testing::cases;
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
    std::vector<std::string> names;
    for (std::uint32_t m = 0; m < trial.shape.data_count; ++m)
        names.push_back(std::string("u").append(std::to_string(m)));
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
    for (std::uint64_t seed = 0; seed < cases<std::uint64_t>(24, 14); ++seed) {
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

// Two matrices, with weights that depend on the row, the column and the iteration.
template <bool previous, int stencil_radius>
struct Placed {
    static constexpr int radius = stencil_radius;
    static constexpr bool reads_previous = previous;
    static constexpr bool knows_place = true;
    static constexpr std::uint32_t data_count = 2;

    std::array<double, 2> operator()(const auto& u, const auto& v, const auto& c,
                                     const place& at) const {
        const auto weight = 0.001 * static_cast<double>(7 * at.row + 3 * at.column + at.iteration);
        return {0.25 * (u(-radius, 0) + v(0, 1) + u(radius, -1)) + c(0, 0),
                0.5 * v(0, -radius) - 0.125 * u(1, 1) + 0.01 * std::sin(weight)};
    }
};

// Eight rows at once on skewed parts.
struct Smooth {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    static constexpr std::uint32_t data_count = 1;
    auto operator()(const auto& u, const auto& c) const {
        return 0.2 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0)) + 0.1 * c(0, 0) * u(0, 0);
    }
};

template <typename Update>
void iterate(const Update& update, testing::Matrices<double>& m, std::int64_t iteration) {
    auto before = m.values;
    testing::each_cell(m, Update::radius, {}, [&](std::uint64_t i, std::uint64_t j) {
        const auto accessor = [&](std::uint32_t matrix) {
            const bool old = matrix < Update::data_count && detail::reads_previous<Update>();
            return
                [&values = old ? before[matrix] : m.values[matrix], &m, i, j](int down, int right) {
                    const auto row = static_cast<std::int64_t>(i) + down;
                    const auto place = row * static_cast<std::int64_t>(m.columns) +
                                       static_cast<std::int64_t>(j) + right;
                    return values[static_cast<std::size_t>(place)];
                };
        };
        if constexpr (Update::data_count == 1) {
            m.at(0, i, j) = update(accessor(0), accessor(1));
        } else {
            const auto next = update(
                accessor(0), accessor(1), accessor(2),
                place{iteration, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
            m.at(0, i, j) = next[0];
            m.at(1, i, j) = next[1];
        }
    });
}

template <typename Update>
Trial draw_for(std::uint64_t seed, int ranks) {
    auto trial = draw(seed, ranks);
    constexpr std::uint64_t radius = Update::radius;
    trial.shape.data_count = Update::data_count;
    trial.shape.coefficient_count = 1;
    trial.shape.rows = std::max(trial.shape.rows, 2 * radius * static_cast<std::uint64_t>(ranks));
    trial.shape.strip_rows = std::max(trial.shape.strip_rows, radius + 1);
    trial.kernel = "own";
    return trial;
}

template <typename Update>
lw_wavefront_outcome run_own(const std::string& part, const RunOptions& wanted) {
    store own = store::open(part);
    return run_on_ranks(MPI_COMM_WORLD, own, Update{},
                        {.iterations = wanted.iterations,
                         .tolerance = has_tolerance(wanted.tolerance) ? wanted.tolerance : -1.0,
                         .threads = wanted.threads,
                         .waves = wanted.waves});
}

template <typename Update>
void expect_the_loop(std::uint64_t seed) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto trial = draw_for<Update>(seed, job.ranks);
    SCOPED_TRACE(seed);
    const auto names = part_names(folder, job.ranks);
    testing::Matrices<double> expected;
    if (job.rank == 0) {
        auto whole = make_whole(folder, trial, seed);
        ASSERT_TRUE(whole) << whole.failure().sentence;
        ASSERT_TRUE(split_store(*whole, Update::radius, names));
        expected = testing::load<double>(*whole);
        for (std::uint64_t n = 0; n < trial.run.options.iterations; ++n)
            iterate(Update{}, expected, static_cast<std::int64_t>(n));
    }
    MPI_Barrier(MPI_COMM_WORLD);

    const auto outcome =
        run_own<Update>(names[static_cast<std::size_t>(job.rank)], trial.run.options);

    EXPECT_EQ(outcome.iterations, trial.run.options.iterations);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) {
        const auto joined = join_stores(names, folder + "joined");
        ASSERT_TRUE(joined) << joined.failure().sentence;
        const auto store = Store::open(folder + "joined", Access::reading);
        const auto found = testing::load<double>(*store);
        for (std::uint32_t m = 0; m < Update::data_count; ++m)
            EXPECT_EQ(found.values[m], expected.values[m]) << "matrix " << m;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, UpdatesOfOnesOwnOfSeveralMatricesEqualTheSequentialLoop) {
    // Seeds of the second seven go over parallelograms.
    for (std::uint64_t seed = 0; seed < cases<std::uint64_t>(14, 8) && !HasFailure(); ++seed) {
        expect_the_loop<Placed<false, 1>>(seed);
        expect_the_loop<Placed<false, 3>>(seed);
        expect_the_loop<Placed<true, 1>>(seed);
        expect_the_loop<Placed<true, 2>>(seed);
        expect_the_loop<Smooth>(seed);
    }
}

// The run over the whole store is what borders_test.cpp compares with a loop.
template <typename Update>
void expect_borders(std::uint64_t seed, const std::string& borders) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    constexpr std::uint64_t radius = Update::radius;
    auto trial = draw_for<Update>(seed, job.ranks);
    trial.shape.columns = std::max(trial.shape.columns, 3 * radius);
    trial.shape.rows = std::max(trial.shape.rows, 3 * radius);
    trial.shape.strip_rows = std::max(trial.shape.strip_rows, 2 * radius);
    SCOPED_TRACE(borders + ", seed " + std::to_string(seed));
    const auto names = part_names(folder, job.ranks);
    if (job.rank == 0) {
        auto whole = make_whole(folder, trial, seed);
        ASSERT_TRUE(whole) << whole.failure().sentence;
        ASSERT_TRUE(split_store(*whole, radius, names));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const auto& given = trial.run.options;
    const options wanted{.iterations = given.iterations,
                         .threads = given.threads,
                         .waves = given.waves,
                         .borders = borders};
    store part = store::open(names[static_cast<std::size_t>(job.rank)]);

    run_on_ranks(MPI_COMM_WORLD, part, Update{}, wanted);

    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) {
        store whole = store::open(folder + "whole");
        run(whole, Update{}, wanted);
        const auto joined = join_stores(names, folder + "joined");
        ASSERT_TRUE(joined) << joined.failure().sentence;
        store found = store::open(folder + "joined");
        for (std::uint32_t m = 0; m < Update::data_count; ++m)
            EXPECT_EQ(found.template read<double>(m), whole.template read<double>(m)) << m;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, PartsHaveTheBordersOfTheWholeStore) {
    for (const auto *borders : {"neumann", "columns=periodic", "columns=periodic,top=neumann",
                                "bottom=neumann,left=neumann"}) {
        for (std::uint64_t seed = 0; seed < cases<std::uint64_t>(7, 3) && !HasFailure(); ++seed) {
            expect_borders<Placed<false, 1>>(seed, borders);
            expect_borders<Placed<true, 2>>(seed, borders);
            expect_borders<Smooth>(seed, borders);
        }
    }
}

TEST(RanksTest, AnUpdateOfOnesOwnComesToRestOnAllRanksTogether) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    auto trial = draw_for<Smooth>(1, job.ranks);
    trial.run.options.iterations = 500;
    trial.run.options.tolerance = 1e-3;
    const auto names = part_names(folder, job.ranks);
    std::uint64_t iterations = 0;
    if (job.rank == 0) {
        auto whole = make_whole(folder, trial, 1);
        ASSERT_TRUE(whole) << whole.failure().sentence;
        ASSERT_TRUE(split_store(*whole, 1, names));
        auto expected = testing::load<double>(*whole);
        auto before = expected.values[0];
        do {
            before = expected.values[0];
            iterate(Smooth{}, expected, 0);
            ++iterations;
        } while (largest_change(before, expected.values[0]) > 1e-3);
    }
    MPI_Bcast(&iterations, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);

    const auto outcome =
        run_own<Smooth>(names[static_cast<std::size_t>(job.rank)], trial.run.options);

    EXPECT_TRUE(outcome.converged);
    EXPECT_EQ(outcome.iterations, iterations);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 0 makes a store that suits the update, and splits it for a stencil radius of 1.
template <typename Update>
void split_for(const Job& job, const std::string& folder, const std::vector<std::string>& names) {
    if (job.rank == 0) {
        auto whole = make_whole(folder, draw_for<Update>(1, job.ranks), 1);
        ASSERT_TRUE(whole) << whole.failure().sentence;
        ASSERT_TRUE(split_store(*whole, 1, names));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Only one rank has what is wrong, and all say so.
TEST(RanksTest, WhatOneRankCannotRunIsRefusedOnAll) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto names = part_names(folder, job.ranks);
    ASSERT_NO_FATAL_FAILURE(split_for<Smooth>(job, folder, names));
    const bool last = job.rank + 1 == job.ranks;
    auto part = store::open(names[static_cast<std::size_t>(job.rank)]);
    const std::uint64_t memory_bytes = last ? 1 : std::uint64_t{1} << 30;

    std::string refused;
    try {
        run_on_ranks(MPI_COMM_WORLD, part, Smooth{}, {.memory_bytes = memory_bytes});
    } catch (const error& thrown) {
        refused = thrown.what();
    }

    EXPECT_THAT(refused, ::testing::HasSubstr("memory"));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, PeriodicRowsOfPartsAreRefused) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto names = part_names(folder, job.ranks);
    ASSERT_NO_FATAL_FAILURE(split_for<Smooth>(job, folder, names));

    RankRun wanted;
    wanted.folder = names[static_cast<std::size_t>(job.rank)];
    wanted.kernel = "sor";
    wanted.borders = "periodic";

    const auto report = run_rank(MPI_COMM_WORLD, wanted);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, ::testing::HasSubstr("not periodic"));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, PartsForAnotherStencilRadiusAreRefused) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto names = part_names(folder, job.ranks);
    ASSERT_NO_FATAL_FAILURE((split_for<Placed<true, 2>>(job, folder, names)));
    auto part = store::open(names[static_cast<std::size_t>(job.rank)]);

    std::string refused;
    try {
        run_on_ranks(MPI_COMM_WORLD, part, Placed<true, 2>{}, {.iterations = 1});
    } catch (const error& thrown) {
        refused = thrown.what();
    }

    EXPECT_THAT(refused, ::testing::HasSubstr("--radius 2"));
    MPI_Barrier(MPI_COMM_WORLD);
}

// A store for SOR, whose part on this rank is returned.
std::string split_sor(const Job& job, const std::string& folder) {
    const auto names = part_names(folder, job.ranks);
    if (job.rank == 0) {
        Trial trial;
        trial.shape = {.rows = 40 * static_cast<std::uint64_t>(job.ranks),
                       .columns = 30,
                       .coefficient_count = 1,
                       .strip_rows = 8};
        auto whole = make_whole(folder, trial, 1);
        EXPECT_TRUE(whole) << whole.failure().sentence;
        EXPECT_TRUE(split_store(*whole, 1, names));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return names[static_cast<std::size_t>(job.rank)];
}

RankRun sor_on(const std::string& part, std::uint64_t iterations) {
    RankRun wanted;
    wanted.folder = part;
    wanted.kernel = "sor";
    wanted.options.iterations = iterations;
    wanted.options.waves = 4;
    return wanted;
}

Result<RunReport> resume_on(const std::string& part,
                            std::uint64_t memory_bytes = std::uint64_t{1} << 30) {
    RankRun wanted;
    wanted.folder = part;
    wanted.options.memory_bytes = memory_bytes;
    wanted.resuming = true;
    return run_rank(MPI_COMM_WORLD, wanted);
}

TEST(RanksTest, AStartThatSomeRanksNotedOnlyIsNotResumed) {
    const Job job;
    if (job.ranks == 1) GTEST_SKIP() << "one rank notes it or does not";
    const Folder own(Medium::memory);
    const auto part = split_sor(job, shared_folder(own));
    using Change = void (*)(RunEntry & run);
    for (const Change change : {+[](RunEntry& run) { run.parameters = {1.9}; },
                                +[](RunEntry& run) { run.kernel = "jacobi"; },
                                +[](RunEntry& run) { run.tolerance = 1e-3; },
                                +[](RunEntry& run) { run.borders.left = BorderKind::neumann; },
                                +[](RunEntry& run) { run.iterations_wanted += 4; }}) {
        ASSERT_TRUE(run_rank(MPI_COMM_WORLD, sor_on(part, 4)));
        if (job.rank == 0) {
            auto store = Store::open(part, Access::changing);
            auto manifest = store->manifest();
            change(*manifest.run);
            ASSERT_TRUE(store->commit(manifest));
        }

        const auto resumed = resume_on(part);

        ASSERT_FALSE(resumed);
        EXPECT_EQ(resumed.failure().status, LW_ERR_NOT_FOUND);
        EXPECT_THAT(resumed.failure().sentence, ::testing::HasSubstr("start the run again"));
    }
}

TEST(RanksTest, NoIterationsAreNoRunAndLeaveTheOneThatThereIs) {
    const Job job;
    const Folder own(Medium::memory);
    const auto part = split_sor(job, shared_folder(own));
    ASSERT_TRUE(run_rank(MPI_COMM_WORLD, sor_on(part, 4)));

    const auto nothing = run_rank(MPI_COMM_WORLD, sor_on(part, 0));

    ASSERT_FALSE(nothing);
    EXPECT_THAT(nothing.failure().sentence, ::testing::HasSubstr("ask for 1 or more"));
    EXPECT_EQ(read_manifest(part)->run->iterations_wanted, 4u);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Ten iterations in passes of four, and the last rank at the eighth, as if it had been killed then.
std::string fall_behind(const Job& job, const std::string& folder) {
    const auto part = split_sor(job, folder);
    const bool last = job.rank + 1 == job.ranks;
    auto wanted = sor_on(part, 10);
    const auto manifest = part + "/" + manifest_name;
    const auto kept = part + ".kept";
    wanted.options.progress = [&](const RunProgress& progress) {
        if (progress.iterations_done == 8)
            std::filesystem::copy_file(manifest, kept,
                                       std::filesystem::copy_options::overwrite_existing);
    };
    const auto report = run_rank(MPI_COMM_WORLD, wanted);
    EXPECT_TRUE(report) << report.failure().sentence;
    if (last) std::filesystem::rename(kept, manifest);
    MPI_Barrier(MPI_COMM_WORLD);
    return part;
}

// What one wave takes on a part.
std::uint64_t least_memory(const std::string& part) {
    const auto store = Store::open(part, Access::reading);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    RunOptions options;
    options.iterations = 2;
    options.waves = 1;
    auto request = request_for(store->shape(), *kernel, options);
    request.domain = Domain::part;
    return make_plan(request)->memory_bytes_min;
}

TEST(RanksTest, ARankThatIsBehindAndHasTooSmallABudgetIsRefusedOnAll) {
    const Job job;
    if (job.ranks == 1) GTEST_SKIP() << "one rank is never behind";
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto part = fall_behind(job, folder);

    const auto refused = resume_on(part, least_memory(part));

    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.failure().sentence, ::testing::HasSubstr("2 waves need --memory"));
    const auto resumed = resume_on(part);
    ASSERT_TRUE(resumed) << resumed.failure().sentence;
    EXPECT_EQ(read_manifest(part)->iterations, 10u);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, AHaloThatOneRankHasLostIsMissedOnAll) {
    const Job job;
    if (job.ranks == 1) GTEST_SKIP() << "one rank has no halos";
    const Folder own(Medium::memory);
    const auto part = fall_behind(job, shared_folder(own));
    for (int slot = 0; slot < 4; ++slot)
        std::filesystem::remove(part + "/halos." + std::to_string(slot));

    const auto resumed = resume_on(part);

    ASSERT_FALSE(resumed);
    EXPECT_THAT(resumed.failure().sentence, ::testing::HasSubstr("lacks the halo"));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, APartThatOneRankCannotOpenIsMissedOnAll) {
    const Job job;
    const Folder own(Medium::memory);
    const auto part = split_sor(job, shared_folder(own));
    const bool last = job.rank + 1 == job.ranks;

    const auto report = run_rank(MPI_COMM_WORLD, sor_on(last ? part + ".not" : part, 4));

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, ::testing::HasSubstr(".not is not a wavefront store"));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, AnUpdateThatDoesNotSuitThePartOfOneRankIsRefusedOnAll) {
    const Job job;
    const Folder own(Medium::memory);
    const auto name = split_sor(job, shared_folder(own));
    lw_wavefront_shape floats = LW_WAVEFRONT_SHAPE;
    floats.element = LW_ELEMENT_F32;
    floats.rows = floats.columns = 10;
    const bool last = job.rank + 1 == job.ranks;
    auto part = last ? store::create_in_memory(floats) : store::open(name);

    std::string refused;
    try {
        run_on_ranks(MPI_COMM_WORLD, part, Smooth{}, {.iterations = 1});
    } catch (const error& thrown) {
        refused = thrown.what();
    }

    EXPECT_THAT(refused, ::testing::HasSubstr("works on f64"));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, WhatOneRankCallsWronglyIsRefusedOnAll) {
    const Job job;
    const Folder own(Medium::memory);
    const auto part = store::open(split_sor(job, shared_folder(own)));
    const bool last = job.rank + 1 == job.ranks;
    const lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;

    const auto without_kernel = lw_wavefront_run_kernel_on_ranks(
        MPI_COMM_WORLD, part.handle(), last ? nullptr : &kernel, &options, nullptr);
    const auto without_part = lw_wavefront_run_kernel_on_ranks(
        MPI_COMM_WORLD, last ? nullptr : part.handle(), &kernel, &options, nullptr);

    EXPECT_EQ(without_kernel, LW_ERR_ARGUMENT);
    EXPECT_EQ(without_part, LW_ERR_ARGUMENT);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, ABuiltInKernelIsRunAndGoneOnWithByTheCApiAsByTheProgram) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto part = store::open(split_sor(job, folder));
    const double omega = 1.5;
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 5;

    EXPECT_EQ(lw_wavefront_resume_on_ranks(MPI_COMM_WORLD, part.handle(), &options, nullptr),
              LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_wavefront_run_on_ranks(MPI_COMM_WORLD, part.handle(), "sor", &omega, 1, &options,
                                        nullptr),
              LW_OK);
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;
    EXPECT_EQ(lw_wavefront_resume_on_ranks(MPI_COMM_WORLD, part.handle(), &options, &outcome),
              LW_OK);

    EXPECT_EQ(outcome.iterations, 0u);
    EXPECT_EQ(part.handle()->store.manifest().run->parameters, std::vector<double>{omega});
    EXPECT_EQ(part.handle()->store.manifest().iterations, 5u);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, APartCallsNobodyBetweenItsIterations) {
    const Job job;
    const Folder own(Medium::memory);
    const auto part = store::open(split_sor(job, shared_folder(own)));
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 5;
    options.paused = [](void *, std::uint64_t, double) { return 0; };

    const auto status = lw_wavefront_run_on_ranks(MPI_COMM_WORLD, part.handle(), "sor", nullptr, 0,
                                                  &options, nullptr);

    EXPECT_EQ(status, LW_ERR_ARGUMENT);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, AnIntercommunicatorIsRefusedOnAllRanks) {
    const Job job;
    if (job.ranks == 1) GTEST_SKIP() << "one rank is in one group";
    const Folder own(Medium::memory);
    auto part = store::open(split_sor(job, shared_folder(own)));
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    const bool first = job.rank == 0;
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, first ? 0 : 1, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, first ? 1 : 0, 0, &both);

    EXPECT_EQ(lw_wavefront_run_on_ranks(both, part.handle(), "sor", nullptr, 0, &options, nullptr),
              LW_ERR_ARGUMENT);
    EXPECT_THAT([&] { run_on_ranks(both, part, Smooth{}, {.iterations = 1}); },
                ::testing::ThrowsMessage<error>(
                    ::testing::HasSubstr("merge its groups by MPI_Intercomm_merge")));
    EXPECT_THAT([&] { resume_on_ranks(both, part, Smooth{}); }, ::testing::Throws<error>());

    MPI_Comm_free(&both);
    MPI_Comm_free(&group);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, NoCommunicatorIsRefused) {
    const Job job;
    const Folder own(Medium::memory);
    auto part = store::open(split_sor(job, shared_folder(own)));
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;

    EXPECT_EQ(lw_wavefront_run_on_ranks(MPI_COMM_NULL, part.handle(), "sor", nullptr, 0, &options,
                                        nullptr),
              LW_ERR_ARGUMENT);
    EXPECT_THAT([&] { run_on_ranks(MPI_COMM_NULL, part, Smooth{}, {.iterations = 1}); },
                ::testing::ThrowsMessage<error>(::testing::HasSubstr("comm is MPI_COMM_NULL")));

    MPI_Barrier(MPI_COMM_WORLD);
}

// Its owner learns of what has been read a moment later, in which waves that did not wait would do
// harm.
class LateQueue final : public DiskQueue {
  public:
    explicit LateQueue(std::unique_ptr<DiskQueue> queue) : queue_(std::move(queue)) {}
    void register_memory(const Memory& memory) override { queue_->register_memory(memory); }
    void submit(const Transfer& transfer) override { queue_->submit(transfer); }
    std::optional<Completion> wait() override {
        const auto completion = queue_->wait();
        if (completion) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return completion;
    }
    void wake() override { queue_->wake(); }
    const char *name() const override { return "late"; }

  private:
    std::unique_ptr<DiskQueue> queue_;
};

TEST(RanksTest, RowsOfTheLowerNeighbourWaitForTheStripThatTheyReplace) {
    const Job job;
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    // The first row that reads them lies two strips before the last of them.
    Trial trial;
    trial.kernel = "sor-fourth-order";
    trial.shape = {.rows = 51 * static_cast<std::uint64_t>(job.ranks),
                   .columns = 20,
                   .coefficient_count = 1,
                   .layout = &layouts::row_major,
                   .strip_rows = 2};
    trial.run.kernel = trial.kernel;
    trial.run.options.iterations = 4;
    trial.run.options.waves = 2;
    trial.run.options.wrap_queue = [](std::unique_ptr<DiskQueue> queue) {
        return std::make_unique<LateQueue>(std::move(queue));
    };
    std::vector<double> expected;
    if (job.rank == 0) expected = prepare(folder, trial, 1, 4, job.ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    trial.run.folder = part_names(folder, job.ranks)[static_cast<std::size_t>(job.rank)];

    const auto report = run_rank(MPI_COMM_WORLD, trial.run);

    ASSERT_TRUE(report) << report.failure().sentence;
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) {
        EXPECT_EQ(join(folder, "joined", job.ranks), expected);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Sets a flag when its owner begins to read, or when it can do nothing more but wait for others.
class WatchedQueue final : public DiskQueue {
  public:
    enum class When { reading, idle };
    WatchedQueue(std::unique_ptr<DiskQueue> queue, When when, std::atomic<bool>& flag)
        : queue_(std::move(queue)), when_(when), flag_(flag) {}
    void register_memory(const Memory& memory) override { queue_->register_memory(memory); }
    void submit(const Transfer& transfer) override {
        ++under_way_;
        if (when_ == When::reading) flag_ = true;
        queue_->submit(transfer);
    }
    std::optional<Completion> wait() override {
        if (under_way_ == 0) flag_ = true;
        const auto completion = queue_->wait();
        if (completion) --under_way_;
        return completion;
    }
    void wake() override { queue_->wake(); }
    const char *name() const override { return "watched"; }

  private:
    std::unique_ptr<DiskQueue> queue_;
    When when_;
    std::atomic<bool>& flag_;
    std::uint64_t under_way_ = 0;
};

// Rank 0 is stopped in its first row, and the others while they wait for what it never sends.
void expect_all_stop(const Job& job, std::uint64_t tile_columns) {
    const Folder own(Medium::memory);
    const auto folder = shared_folder(own);
    const auto names = part_names(folder, job.ranks);
    if (job.rank == 0) {
        Trial trial;
        trial.shape = {.rows = 200,
                       .columns = 60,
                       .layout = &layouts::row_major,
                       .strip_rows = 8,
                       .tile_columns = tile_columns};
        auto whole = make_whole(folder, trial, 1);
        ASSERT_TRUE(whole) << whole.failure().sentence;
        ASSERT_TRUE(split_store(*whole, 1, names));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    auto part = Store::open(names[static_cast<std::size_t>(job.rank)], Access::changing);
    ASSERT_TRUE(part);
    std::atomic<bool> stop{false};
    RunOptions options;
    options.iterations = 20;
    options.waves = 4;
    options.stop = &stop;
    const auto when = tile_columns ? WatchedQueue::When::reading : WatchedQueue::When::idle;
    if (job.rank > 0)
        options.wrap_queue = [&](std::unique_ptr<DiskQueue> queue) {
            return std::make_unique<WatchedQueue>(std::move(queue), when, stop);
        };
    const auto make = [&](const Store& store, std::int64_t first_row) {
        UserKernel kernel;
        kernel.update = [](void *const *, const void *const *, const void *const *, std::int64_t,
                           std::int64_t, std::int64_t,
                           void *context) { *static_cast<std::atomic<bool> *>(context) = true; };
        kernel.context = &stop;
        kernel.first_row = first_row;
        return make_user_kernel(kernel, store.shape());
    };

    const auto report = run_part(MPI_COMM_WORLD, *part, make, options, Begin::anew);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, ::testing::HasSubstr("the run was stopped"));
    EXPECT_EQ(part->manifest().iterations, 0u);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(RanksTest, AllRanksThatAreStoppedEndThoughTheyWaitForEachOther) {
    const Job job;
    expect_all_stop(job, 0);
    expect_all_stop(job, 20);
}

TEST(RanksTest, AStopWakesWhoWaitsForTheCommitOfAnother) {
    const Job job;
    const Folder own(Medium::memory);
    for (const auto pace : {Pace::own, Pace::together}) {
        std::atomic<bool> stop{false};
        MpiHaloExchange exchange(MPI_COMM_WORLD, own / "", 8, 0, Reading::updated, pace, &stop);
        ASSERT_TRUE(exchange.start());
        std::thread stopping([&] { stop = true; });

        // Rank 0 never commits, so that the others cannot.
        if (job.rank > 0) {
            EXPECT_FALSE(exchange.before_commit(1));
            EXPECT_FALSE(exchange.wait(Side::upper, {1}));
            EXPECT_FALSE(exchange.largest_changes({0.0}));
        }

        stopping.join();
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

}  // namespace
}  // namespace lanewise::wavefront
