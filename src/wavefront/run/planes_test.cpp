// SPDX-License-Identifier: BSD-3-Clause
//
// Three dimensions: every run equals the plain triple loop bit for bit, for all small shapes, in
// all eight directions, stopped and resumed; and what has no third dimension is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "testing/cases.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::Medium;

constexpr double infinite = std::numeric_limits<double>::infinity();

struct Sides {
    std::uint64_t planes;
    std::uint64_t lines;
    std::uint64_t cells;
};

MatrixShape shape_of(const Sides& sides, std::uint64_t strip_rows, Element element = Element::f64) {
    return {.rows = sides.planes,
            .columns = sides.lines * sides.cells,
            .coefficient_count = 1,
            .element = element,
            .strip_rows = strip_rows,
            .line_columns = sides.cells};
}

/* Data and coefficient as a three-dimensional array each. */
template <typename Real>
struct Arrays {
    Sides sides;
    std::vector<Real> u;
    std::vector<Real> c;

    Real& at(std::vector<Real>& values, std::uint64_t i, std::uint64_t j, std::uint64_t k) {
        return values[(i * sides.lines + j) * sides.cells + k];
    }
    /* The order of an iteration in `direction`, as three nested loops. */
    template <typename Act>
    void each_cell(const Direction& direction, const Act& act) {
        for (std::uint64_t x = 1; x + 1 < sides.planes; ++x) {
            for (std::uint64_t y = 1; y + 1 < sides.lines; ++y) {
                for (std::uint64_t z = 1; z + 1 < sides.cells; ++z)
                    act(direction.up ? sides.planes - 1 - x : x,
                        direction.back ? sides.lines - 1 - y : y,
                        direction.left ? sides.cells - 1 - z : z);
            }
        }
    }
};

template <typename Real>
void sor(Arrays<Real>& a, const Direction& direction) {
    const auto kept = static_cast<Real>(1.0 - 1.5);
    const auto sixth = static_cast<Real>(1.5 / 6);
    a.each_cell(direction, [&](std::uint64_t i, std::uint64_t j, std::uint64_t k) {
        const Real before =
            a.at(a.u, i - 1, j, k) + a.at(a.u, i, j - 1, k) + a.at(a.u, i, j, k - 1);
        const Real after = a.at(a.u, i, j, k + 1) + a.at(a.u, i, j + 1, k) + a.at(a.u, i + 1, j, k);
        a.at(a.u, i, j, k) =
            kept * a.at(a.u, i, j, k) + sixth * (before + after - a.at(a.c, i, j, k));
    });
}

/* Zhao (2005), section 2.2: the equations with one, two and three upwind neighbours in turn. */
template <typename Real>
void eikonal(Arrays<Real>& a, const Direction& direction) {
    a.each_cell(direction, [&](std::uint64_t i, std::uint64_t j, std::uint64_t k) {
        Real n[] = {std::fmin(a.at(a.u, i - 1, j, k), a.at(a.u, i + 1, j, k)),
                    std::fmin(a.at(a.u, i, j - 1, k), a.at(a.u, i, j + 1, k)),
                    std::fmin(a.at(a.u, i, j, k - 1), a.at(a.u, i, j, k + 1))};
        std::sort(std::begin(n), std::end(n));
        const Real f = a.at(a.c, i, j, k);
        Real arrival = n[0] + f;
        const Real p = n[1] - n[0];
        if (arrival > n[1]) arrival = n[0] + Real(0.5) * (p + std::sqrt(2 * f * f - p * p));
        if (arrival > n[2]) {
            const Real q = n[2] - n[0];
            const Real rest = (p + q) * (p + q) - 3 * (p * p + q * q - f * f);
            arrival = n[0] + (p + q + std::sqrt(rest)) / 3;
        }
        if (arrival < a.at(a.u, i, j, k)) a.at(a.u, i, j, k) = arrival;
    });
}

template <typename Real>
void sweep(const std::string& kernel, Arrays<Real>& arrays, const Direction& direction) {
    return kernel == "sor-3d" ? sor(arrays, direction) : eikonal(arrays, direction);
}

Result<Store> make_store(const Folder& folder, const MatrixShape& shape) {
    auto store = Store::create(folder / "store", shape, {"u", "c"}, {});
    if (store && !fill_with_demo_values(*store, shape.rows + shape.columns)) return Failure{};
    return store;
}

template <typename Real>
Arrays<Real> load(const Store& store, const Sides& sides) {
    auto found = testing::load<Real>(store);
    return {sides, std::move(found.values[0]), std::move(found.values[1])};
}

template <typename Real>
void expect_bits(const std::string& kernel_name, const MatrixShape& shape, const Sides& sides,
                 const RunOptions& options) {
    SCOPED_TRACE(kernel_name + " " + element_name(shape.element) + " " +
                 std::to_string(sides.planes) + "x" + std::to_string(sides.lines) + "x" +
                 std::to_string(sides.cells) + " strips of " + std::to_string(shape.strip_rows) +
                 ", K " + std::to_string(options.waves) + " " +
                 directions_text(options.directions));
    const Folder folder(Medium::memory);
    auto store = make_store(folder, shape);
    ASSERT_TRUE(store) << store.failure().sentence;
    auto expected = load<Real>(*store, sides);
    for (std::uint64_t i = 0; i < options.iterations; ++i)
        sweep(kernel_name, expected, options.directions[i % options.directions.size()]);
    const auto kernel = make_kernel_for(kernel_name, {}, shape);
    ASSERT_TRUE(kernel) << kernel.failure().sentence;

    const auto report = run(*store, *kernel, options);

    ASSERT_TRUE(report) << report.failure().sentence;
    const auto found = load<Real>(*store, sides);
    ASSERT_EQ(found.u.size(), expected.u.size());
    EXPECT_EQ(std::memcmp(found.u.data(), expected.u.data(), expected.u.size() * sizeof(Real)), 0);
}

TEST(PlanesTest, EveryRunOverASmallShapeEqualsTheTripleLoop) {
    const Directions orders[] = {{Direction{}}, *parse_directions("fast-sweeping-3d")};
    std::uint64_t number = 0;
    const auto longest = lanewise::testing::cases<std::uint64_t>(6, 4);
    for (std::uint64_t cell = 0; cell < longest * longest * longest && !HasFailure(); ++cell) {
        const Sides sides{1 + cell / longest / longest, 1 + cell / longest % longest,
                          1 + cell % longest};
        for (std::uint64_t waves = 1; waves <= 5; ++waves) {
            ++number;
            RunOptions options;
            options.iterations = 7;
            options.waves = waves;
            options.threads = static_cast<std::uint32_t>(1 + number % 3);
            options.directions = orders[number % 2];
            const auto kernel = number / 2 % 2 ? "sor-3d" : "eikonal-3d";
            const auto strip_rows = 1 + number % 3;
            if (number % 5 == 0)
                expect_bits<float>(kernel, shape_of(sides, strip_rows, Element::f32), sides,
                                   options);
            else
                expect_bits<double>(kernel, shape_of(sides, strip_rows), sides, options);
        }
    }
}

TEST(PlanesTest, EachOfTheEightDirectionsIsThatOfTheLoops) {
    const Sides sides{9, 7, 8};
    const auto directions = *parse_directions("fast-sweeping-3d");
    for (const auto& direction : directions) {
        for (const auto *kernel : {"sor-3d", "eikonal-3d"}) {
            RunOptions options;
            options.iterations = 5;
            options.waves = 3;
            options.directions = {direction};
            expect_bits<double>(kernel, shape_of(sides, 2), sides, options);
        }
    }
}

TEST(PlanesTest, FastSweepingGoesToEachOfTheEightCornersOnce) {
    const auto directions = *parse_directions("fast-sweeping-3d");

    ASSERT_EQ(directions.size(), 8u);
    for (std::size_t one = 0; one < 8; ++one)
        EXPECT_EQ(std::count(directions.begin(), directions.end(), directions[one]), 1);
    EXPECT_EQ(directions_text(directions), "fast-sweeping-3d");
}

TEST(PlanesTest, ARunThatWasStoppedGoesOnWithTheDirectionThatIsNext) {
    const Sides sides{13, 5, 6};
    for (std::uint64_t passes = 1; passes < 9; ++passes) {
        const Folder folder(Medium::memory);
        auto store = make_store(folder, shape_of(sides, 2));
        ASSERT_TRUE(store);
        auto expected = load<double>(*store, sides);
        const auto kernel = make_kernel_for("sor-3d", {}, store->shape());
        ASSERT_TRUE(kernel);
        std::atomic<bool> stop{false};
        RunOptions options;
        options.iterations = 11;
        options.waves = 1;
        options.directions = *parse_directions("fast-sweeping-3d");
        for (std::uint64_t i = 0; i < 11; ++i) sor(expected, options.directions[i % 8]);
        options.stop = &stop;
        options.progress = [&](const RunProgress& progress) {
            if (progress.iterations_done == passes) stop = true;
        };
        ASSERT_FALSE(run(*store, *kernel, options));
        // As another program that opens the store would.
        const auto read = read_manifest(store->folder());
        ASSERT_TRUE(read) << read.failure().sentence;
        EXPECT_EQ(read->shape.line_columns, sides.cells);

        const auto resumed = resume(*store, RunOptions{});

        ASSERT_TRUE(resumed) << resumed.failure().sentence;
        EXPECT_EQ(resumed->iterations, 11 - passes);
        EXPECT_EQ(load<double>(*store, sides).u, expected.u) << passes;
    }
}

// A box with a wall across it that has one gap: the front goes through the gap and comes to rest.
TEST(PlanesTest, FastSweepingComesToRestAroundAWallOfInfinity) {
    const Sides sides{12, 11, 10};
    const Folder folder(Medium::memory);
    const auto shape = shape_of(sides, 3);
    auto store = Store::create(folder / "store", shape, {"u", "c"}, {});
    ASSERT_TRUE(store);
    Arrays<double> arrays{sides, std::vector<double>(12 * 11 * 10, infinite),
                          std::vector<double>(12 * 11 * 10, 1.0)};
    arrays.at(arrays.u, 1, 1, 1) = 0.0;
    for (std::uint64_t j = 0; j < sides.lines; ++j) {
        for (std::uint64_t k = 0; k < sides.cells; ++k) {
            if (j != 9 || k != 8) arrays.at(arrays.c, 6, j, k) = infinite;
        }
    }
    for (const std::uint32_t matrix : {0u, 1u}) {
        const auto& values = matrix == 0 ? arrays.u : arrays.c;
        const auto written =
            write_matrix(*store, matrix,
                         [&](std::uint64_t first, std::uint64_t count, std::byte *rows) -> Outcome {
                             std::memcpy(rows, &values[first * shape.columns],
                                         count * shape.columns * sizeof(double));
                             return Done{};
                         });
        ASSERT_TRUE(written);
    }
    const auto kernel = make_kernel_for("eikonal-3d", {}, shape);
    RunOptions options;
    options.iterations = 100;
    options.tolerance = 0.0;
    options.directions = *parse_directions("fast-sweeping-3d");

    const auto report = run(*store, *kernel, options);

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_TRUE(report->converged);
    for (std::uint64_t i = 0; i < report->iterations; ++i)
        eikonal(arrays, options.directions[i % 8]);
    const auto found = load<double>(*store, sides);
    EXPECT_EQ(found.u, arrays.u);
    EXPECT_TRUE(std::isfinite(arrays.at(arrays.u, 10, 1, 1))) << "behind the wall";
    EXPECT_GT(arrays.at(arrays.u, 10, 1, 1), 18.0) << "around it";
}

TEST(PlanesTest, TheResidualIsThatOfTheTripleLoop) {
    const Sides sides{9, 7, 8};
    const Folder folder(Medium::memory);
    auto store = make_store(folder, shape_of(sides, 2));
    ASSERT_TRUE(store);
    auto arrays = load<double>(*store, sides);
    const auto kernel = make_kernel_for("sor-3d", {1.0}, store->shape());
    ASSERT_TRUE(kernel);
    double squares = 0.0;
    arrays.each_cell({}, [&](std::uint64_t i, std::uint64_t j, std::uint64_t k) {
        auto& u = arrays.u;
        const double sum = arrays.at(u, i - 1, j, k) + arrays.at(u, i + 1, j, k) +
                           arrays.at(u, i, j - 1, k) + arrays.at(u, i, j + 1, k) +
                           arrays.at(u, i, j, k - 1) + arrays.at(u, i, j, k + 1);
        const double rest = (sum - arrays.at(arrays.c, i, j, k)) / 6 - arrays.at(u, i, j, k);
        squares += rest * rest;
    });

    const auto found = measure(*store, *kernel, Measure::residual, 0);

    ASSERT_TRUE(found) << found.failure().sentence;
    EXPECT_NEAR(*found, std::sqrt(squares), 1e-12 * std::sqrt(squares));
}

TEST(PlanesTest, AKernelOfAnotherNumberOfDimensionsIsRefused) {
    const auto three = shape_of({4, 5, 6}, 2);
    auto two = three;
    two.line_columns = 0;

    EXPECT_THAT(make_kernel_for("sor", {}, three).failure().sentence, HasSubstr("sor-3d"));
    EXPECT_THAT(make_kernel_for("sor-3d", {}, two).failure().sentence, HasSubstr("--shape"));
}

TEST(PlanesTest, LinesGoBackInThreeDimensionsOnly) {
    const Folder folder(Medium::memory);
    auto store =
        make_store(folder, {.rows = 9, .columns = 9, .coefficient_count = 1, .strip_rows = 2});
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    RunOptions options;
    options.directions = *parse_directions("symmetric-3d");

    const auto report = run(*store, *kernel, options);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("three dimensions"));
}

TEST(PlanesTest, PlanesAreStoredWholeAndRowMajor) {
    auto tiled = shape_of({4, 5, 6}, 2);
    tiled.tile_columns = 6;
    auto skewed = with_layout(shape_of({4, 5, 6}, 8), &layouts::skewed);
    auto ragged = shape_of({4, 5, 6}, 2);
    ragged.line_columns = 7;

    EXPECT_THAT(check_shape(tiled).failure().sentence, HasSubstr("in tiles"));
    EXPECT_THAT(check_shape(skewed).failure().sentence, HasSubstr("not skewed"));
    EXPECT_THAT(check_shape(ragged).failure().sentence, HasSubstr("not made of lines of 7"));
}

TEST(PlanesTest, AStripOfLargePlanesIsOnePlane) {
    EXPECT_EQ(default_strip_rows(shape_of({64, 512, 512}, 0)), 1u);
    EXPECT_EQ(default_strip_rows(shape_of({64, 128, 256}, 0)), 4u);
}

// Of the whole store, where this one is a part of it that begins with plane 100.
TEST(PlanesTest, WhatIsNotFiniteIsNamedByItsPlaneLineAndColumn) {
    const Folder folder(Medium::memory);
    const Sides sides{8, 6, 5};
    auto store = Store::create(folder / "s", shape_of(sides, 3), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    Arrays<double> arrays{sides, testing::load<double>(*store).values[0], {}};
    arrays.at(arrays.u, 3, 2, 1) = infinite;
    const auto filled = write_matrix(
        *store, 0, [&](std::uint64_t first, std::uint64_t count, std::byte *rows) -> Outcome {
            const auto plane = sides.lines * sides.cells;
            std::memcpy(rows, arrays.u.data() + first * plane, count * plane * sizeof(double));
            return Done{};
        });
    ASSERT_TRUE(filled);
    const auto kernel = make_kernel_for("sor-3d", {}, store->shape());
    RunOptions options;
    options.finite = Finite::checked;
    options.first_row = 100;

    const auto report = run(*store, *kernel, options);

    ASSERT_FALSE(report);
    EXPECT_THAT(
        report.failure().sentence,
        HasSubstr("u of " + store->folder() + " is not finite at plane 102, line 2, column 1;"));
}

TEST(PlanesTest, AKernelThatWritesOutsideOfItsPlaneIsCaughtByThePlaneOfTheWholeStore) {
    const Folder folder(Medium::memory);
    auto store = Store::create(folder / "s", shape_of({8, 6, 5}, 3), {"u", "c"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    UserKernel reckless;
    reckless.update_plane = [](void *const *updated, const void *const *, const void *const *,
                               const Plane&, void *) { static_cast<double *>(*updated)[0] += 1; };
    reckless.writes = WriteCheck::watched;
    reckless.first_row = 100;
    const auto kernel = make_user_kernel(reckless, store->shape());
    ASSERT_TRUE(kernel);

    const auto report = run(*store, *kernel, RunOptions{});

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("while updating plane 101;"));
}

}  // namespace
}  // namespace lanewise::wavefront
