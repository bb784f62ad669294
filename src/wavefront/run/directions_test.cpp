// SPDX-License-Identifier: BSD-3-Clause
//
// Runs whose iterations go in several directions: stopped and resumed in the middle of a
// cycle, at rest after a whole cycle only, and travel times by fast sweeping around walls
// of infinity. That their bits are those of the loops is in bits_test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::Matrices;
using testing::Medium;

constexpr double infinite = std::numeric_limits<double>::infinity();

MatrixShape shape_of(const Layout *layout, std::uint64_t tile_columns) {
    return {.rows = 61,
            .columns = 50,
            .coefficient_count = 1,
            .layout = layout,
            .strip_rows = 8,
            .tile_columns = tile_columns};
}

Result<Store> filled_store(const Folder& folder, const MatrixShape& shape) {
    auto store = Store::create(folder / "store", shape, {"u", "c"}, {});
    if (store && !fill_with_demo_values(*store, 5)) return Failure{};
    return store;
}

struct Place {
    const Layout *layout;
    std::uint64_t tile_columns;
};

TEST(DirectionsTest, ARunThatWasStoppedInTheMiddleOfACycleGoesOnThere) {
    for (const auto& place : {Place{&layouts::row_major, 0}, Place{&layouts::skewed, 0},
                              Place{&layouts::row_major, 11}, Place{&layouts::skewed, 7}}) {
        for (std::uint64_t passes = 1; passes < 6; ++passes) {
            const Folder folder(Medium::memory);
            auto store = filled_store(folder, shape_of(place.layout, place.tile_columns));
            ASSERT_TRUE(store);
            const auto kernel = make_kernel_for("sor", {}, store->shape());
            ASSERT_TRUE(kernel);
            auto expected = testing::load<double>(*store);
            std::atomic<bool> stop{false};
            RunOptions options;
            options.iterations = 11;
            options.waves = 1;
            options.directions = *parse_directions("fast-sweeping,down-right");
            for (std::uint64_t i = 0; i < options.iterations; ++i)
                testing::sweep("sor", expected, options.directions[i % 5]);
            options.stop = &stop;
            options.progress = [&](const RunProgress& progress) {
                if (progress.iterations_done == passes) stop = true;
            };

            ASSERT_FALSE(run(*store, *kernel, options));
            EXPECT_EQ(store->manifest().iterations, passes);
            // As another program that opens the store would.
            const auto read = read_manifest(store->folder());
            ASSERT_TRUE(read) << read.failure().sentence;
            ASSERT_TRUE(read->run->course);
            const auto resumed = resume(*store, RunOptions{});

            ASSERT_TRUE(resumed) << resumed.failure().sentence;
            EXPECT_EQ(resumed->iterations, 11 - passes);
            EXPECT_EQ(testing::load<double>(*store).values[0], expected.values[0])
                << place.layout->name << " tiles of " << place.tile_columns << ", " << passes;
        }
    }
}

TEST(DirectionsTest, ASecondRunBeginsTheCycleAnew) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, shape_of(&layouts::row_major, 0));
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    auto expected = testing::load<double>(*store);
    RunOptions options;
    options.iterations = 3;
    options.directions = *parse_directions("symmetric");

    ASSERT_TRUE(run(*store, *kernel, options));
    ASSERT_TRUE(run(*store, *kernel, options));

    for (std::size_t i = 0; i < 6; ++i)
        testing::sweep("sor", expected, options.directions[i % 3 % 2]);
    EXPECT_EQ(testing::load<double>(*store).values[0], expected.values[0]);
}

// Every strip of both matrices once, and at each turn those that were not in memory.
TEST(DirectionsTest, StripsThatAreInMemoryWhereTheDirectionTurnsAreNotReadAgain) {
    for (const auto *const layout : {&layouts::row_major, &layouts::skewed}) {
        for (const std::uint64_t spare : {0u, 20000u, 1u << 24}) {
            const Folder folder(Medium::memory);
            auto store = filled_store(folder, shape_of(layout, 0));
            ASSERT_TRUE(store);
            const auto kernel = make_kernel_for("sor", {}, store->shape());
            auto expected = testing::load<double>(*store);
            RunOptions options;
            options.iterations = 7;
            options.threads = 2;
            options.directions = *parse_directions("symmetric");
            options.memory_bytes =
                plan_run(store->shape(), *kernel, options)->memory_bytes_min + spare;
            for (std::uint64_t i = 0; i < options.iterations; ++i)
                testing::sweep("sor", expected, options.directions[i % 2]);
            const auto plan = plan_run(store->shape(), *kernel, options);
            ASSERT_TRUE(plan);

            const auto report = run(*store, *kernel, options);

            ASSERT_TRUE(report) << report.failure().sentence;
            EXPECT_EQ(testing::load<double>(*store).values[0], expected.values[0]);
            const auto strips = store->shape().strip_count();
            const auto bytes = 2 * strip_bytes(store->shape());
            EXPECT_EQ(report->read_bytes, plan->read_bytes);
            EXPECT_EQ(report->read_bytes, (7 * strips - 6 * plan->kept_strips) * bytes);
            if (spare > 20000) EXPECT_EQ(report->read_bytes, strips * bytes);
            if (spare == 0) EXPECT_LT(plan->kept_strips, strips);
        }
    }
}

// The last pass has two waves at first, and is run again with one from what is on disk.
TEST(DirectionsTest, APassThatIsRunAgainFindsNoStripsInMemory) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, shape_of(&layouts::skewed, 0));
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    auto expected = testing::load<double>(*store);
    RunOptions options;
    options.iterations = 100;
    options.tolerance = 1e6;
    options.directions = *parse_directions("down-right,up-left,down-left");
    for (const auto& direction : options.directions) testing::sweep("sor", expected, direction);

    const auto report = run(*store, *kernel, options);

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_EQ(report->iterations, 3u);
    EXPECT_EQ(report->passes, 4u);
    EXPECT_EQ(testing::load<double>(*store).values[0], expected.values[0]);
}

// A map with walls: first arrival times by the sequential loops, until nothing changes.
struct Map {
    Matrices<double> matrices;
    std::uint64_t iterations = 0;
};

Map walls(std::uint64_t side, std::uint64_t source_row, std::uint64_t source_column) {
    Map map{{side, side, {}}};
    map.matrices.values.assign(2, std::vector<double>(side * side, infinite));
    map.matrices.at(0, source_row, source_column) = 0.0;
    for (std::uint64_t i = 0; i < side; ++i) {
        for (std::uint64_t j = 0; j < side; ++j) {
            const bool wall = i == side / 3 && j < side - 4;
            const bool chamber =
                std::max(i, j) >= side / 2 && std::max(i, j) < side / 2 + 8 &&
                std::min(i, j) >= side / 2 &&
                (i % 8 == side / 2 % 8 || j % 8 == side / 2 % 8 || std::max(i, j) == side / 2 + 7);
            map.matrices.at(1, i, j) = wall || chamber ? infinite : 1.0 + 0.01 * double(j % 7);
        }
    }
    return map;
}

Result<Store> store_of(const Folder& folder, const Map& map, const Layout *layout,
                       std::uint64_t tile_columns) {
    const auto side = map.matrices.rows;
    auto store = Store::create(folder / "store",
                               {.rows = side,
                                .columns = side,
                                .coefficient_count = 1,
                                .layout = layout,
                                .strip_rows = 8,
                                .tile_columns = tile_columns},
                               {"u", "c"}, {});
    for (std::uint32_t m = 0; m < 2; ++m) {
        const auto written = write_matrix(
            *store, m, [&](std::uint64_t first, std::uint64_t count, std::byte *rows) -> Outcome {
                std::memcpy(rows, &map.matrices.values[m][first * side],
                            count * side * sizeof(double));
                return Done{};
            });
        if (!written) return written.failure();
    }
    return store;
}

TEST(DirectionsTest, FastSweepingComesToRestAroundWallsOfInfinity) {
    const Directions directions = *parse_directions("fast-sweeping");
    for (const auto& place :
         {Place{&layouts::row_major, 0}, Place{&layouts::skewed, 0}, Place{&layouts::skewed, 20}}) {
        auto map = walls(64, 60, 61);
        const Folder folder(Medium::memory);
        auto store = store_of(folder, map, place.layout, place.tile_columns);
        ASSERT_TRUE(store) << store.failure().sentence;
        std::uint64_t still = 0;
        while (still < directions.size()) {
            const auto before = map.matrices.values[0];
            testing::eikonal(map.matrices, directions[map.iterations++ % 4]);
            still = map.matrices.values[0] == before ? still + 1 : 0;
        }
        const auto kernel = make_kernel_for("eikonal", {}, store->shape());
        ASSERT_TRUE(kernel);
        RunOptions options;
        options.iterations = 1000;
        options.tolerance = 0.0;
        options.directions = directions;

        const auto report = run(*store, *kernel, options);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_TRUE(report->converged);
        EXPECT_EQ(report->iterations, map.iterations);
        EXPECT_EQ(testing::load<double>(*store).values[0], map.matrices.values[0]);
        EXPECT_TRUE(std::isfinite(map.matrices.at(0, 1, 1)));
        EXPECT_EQ(map.matrices.at(0, 36, 36), infinite) << "a chamber without a door";
    }
}

// Small changes in one direction may add up in another.
TEST(DirectionsTest, RestIsAskedOfAsManyIterationsAsThereAreDirections) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, shape_of(&layouts::row_major, 0));
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    RunOptions options;
    options.iterations = 100;
    options.tolerance = 1e6;
    options.directions = *parse_directions("fast-sweeping");

    const auto report = run(*store, *kernel, options);

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_TRUE(report->converged);
    EXPECT_EQ(report->iterations, 4u);
}

TEST(DirectionsTest, AResumedRunKnowsHowManyIterationsWereAtRest) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, shape_of(&layouts::row_major, 0));
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    std::atomic<bool> stop{false};
    RunOptions options;
    options.iterations = 100;
    options.waves = 1;
    options.tolerance = 1e6;
    options.directions = *parse_directions("fast-sweeping");
    options.stop = &stop;
    options.progress = [&](const RunProgress& progress) {
        if (progress.iterations_done == 3) stop = true;
    };
    ASSERT_FALSE(run(*store, *kernel, options));
    ASSERT_EQ(store->manifest().iterations, 3u);

    const auto resumed = resume(*store, RunOptions{});

    ASSERT_TRUE(resumed) << resumed.failure().sentence;
    EXPECT_TRUE(resumed->converged);
    EXPECT_EQ(resumed->iterations, 1u);
}

TEST(DirectionsTest, AKernelThatIsNotToldTheDirectionGoesOneWayOnly) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, shape_of(&layouts::row_major, 0));
    ASSERT_TRUE(store);
    UserKernel user;
    user.update = [](void *const *, const void *const *, const void *const *, std::int64_t,
                     std::int64_t, std::int64_t, void *) {};
    const auto kernel = make_user_kernel(user, store->shape());
    ASSERT_TRUE(kernel);
    RunOptions options;
    options.directions = *parse_directions("symmetric");

    const auto report = run(*store, *kernel, options);

    ASSERT_FALSE(report);
    EXPECT_EQ(report.failure().status, LW_ERR_ARGUMENT);
    EXPECT_THAT(report.failure().sentence, HasSubstr("down and right only"));
    EXPECT_FALSE(store->manifest().run);
}

TEST(DirectionsTest, AValueThatIsNotFiniteIsNamedByItsPlaceInTheMatrix) {
    for (const auto& place : {Place{&layouts::row_major, 0}, Place{&layouts::skewed, 0},
                              Place{&layouts::row_major, 11}}) {
        auto map = walls(30, 3, 4);
        for (auto& value : map.matrices.values[0]) value = 1.0;
        for (auto& value : map.matrices.values[1]) value = 0.0;
        map.matrices.at(0, 17, 23) = std::numeric_limits<double>::quiet_NaN();
        const Folder folder(Medium::memory);
        auto store = store_of(folder, map, place.layout, place.tile_columns);
        ASSERT_TRUE(store);
        const auto kernel = make_kernel_for("eikonal", {}, store->shape());
        RunOptions options;
        options.finite = Finite::checked;
        options.directions = *parse_directions("backward");

        const auto report = run(*store, *kernel, options);

        ASSERT_FALSE(report);
        EXPECT_THAT(report.failure().sentence, HasSubstr("row 17, column 23"));
    }
}

}  // namespace
}  // namespace lanewise::wavefront
