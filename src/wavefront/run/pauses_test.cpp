// SPDX-License-Identifier: BSD-3-Clause
//
// Measures between iterations against loops written here, and runs that end by them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using testing::Matrices;
using testing::Medium;

// Row by row, and rows in order.
double residual_of_sor(Matrices<double>& m) {
    double total = 0.0;
    for (std::uint64_t i = 1; i + 1 < m.rows; ++i) {
        double row = 0.0;
        for (std::uint64_t j = 1; j + 1 < m.columns; ++j) {
            const double sum = m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) +
                               m.at(0, i + 1, j) - m.at(1, i, j);
            const double rest = (-0.5 * m.at(0, i, j) + 0.375 * sum) - m.at(0, i, j);
            row += rest * rest;
        }
        total += row;
    }
    return std::sqrt(total);
}

struct Place {
    const Layout *layout;
    std::uint64_t tile_columns;
};

const Place places[] = {{&layouts::row_major, 0},
                        {&layouts::skewed, 0},
                        {&layouts::row_major, 11},
                        {&layouts::skewed, 7}};

Result<Store> filled_store(const Folder& folder, const Place& place) {
    auto store = Store::create(folder / "store",
                               {.rows = 61,
                                .columns = 50,
                                .coefficient_count = 1,
                                .layout = place.layout,
                                .strip_rows = 8,
                                .tile_columns = place.tile_columns},
                               {"u", "c"}, {});
    if (store && !fill_with_demo_values(*store, 5)) return Failure{};
    return store;
}

Outcome write_ones_and_a_nan(Store& store, std::uint64_t row, std::uint64_t column) {
    std::uint64_t at = 0;
    return write_matrix(store, 0,
                        [&](std::uint64_t, std::uint64_t count, std::byte *rows) -> Outcome {
                            auto *const values = reinterpret_cast<double *>(rows);
                            std::fill_n(values, count * 50, 1.0);
                            for (std::uint64_t i = 0; i < count; ++i, ++at)
                                if (at == row) values[i * 50 + column] = std::nan("");
                            return Done{};
                        });
}

TEST(PausesTest, IsThatOfTheLoopOnEveryLayout) {
    for (const auto& place : places) {
        const Folder folder(Medium::memory);
        auto store = filled_store(folder, place);
        ASSERT_TRUE(store);
        const auto kernel = make_kernel_for("sor", {}, store->shape());
        auto m = testing::load<double>(*store);
        double sum = 0.0;
        double squares = 0.0;
        for (std::uint64_t i = 0; i < m.rows; ++i) {
            double row = 0.0;
            double row_squares = 0.0;
            for (std::uint64_t j = 0; j < m.columns; ++j) {
                row += m.at(0, i, j);
                row_squares += m.at(0, i, j) * m.at(0, i, j);
            }
            sum += row;
            squares += row_squares;
        }
        const auto& values = m.values[0];

        EXPECT_EQ(*measure(*store, *kernel, Measure::residual, 0), residual_of_sor(m));
        EXPECT_EQ(*measure(*store, *kernel, Measure::sum, 0), sum);
        EXPECT_EQ(*measure(*store, *kernel, Measure::norm, 0), std::sqrt(squares));
        EXPECT_EQ(*measure(*store, *kernel, Measure::max, 0),
                  *std::max_element(values.begin(), values.end()));
        EXPECT_EQ(*measure(*store, *kernel, Measure::min, 0),
                  *std::min_element(values.begin(), values.end()));
    }
}

TEST(PausesTest, IsTheSameOfSeveralMatricesHoweverHighTheirStripsAre) {
    std::set<double> norms;
    for (const std::uint64_t strip_rows : {1u, 3u, 8u, 16u, 24u, 61u}) {
        const MatrixShape shape{
            .rows = 61, .columns = 50, .data_count = 3, .strip_rows = strip_rows};
        auto store = Store::create_in_memory(shape, {"u", "v", "w"});
        ASSERT_TRUE(store && fill_with_demo_values(*store, 5));
        const auto kernel = make_kernel_for("sor", {}, shape);
        norms.insert(*measure(*store, *kernel, Measure::norm, 0));
    }
    EXPECT_EQ(norms.size(), 1u);
}

TEST(PausesTest, ARunEndsAtTheFirstPauseWhereItsConditionHolds) {
    for (const auto& place : places) {
        for (const bool stopped : {false, true}) {
            const Folder folder(Medium::memory);
            auto store = filled_store(folder, place);
            ASSERT_TRUE(store);
            const auto kernel = make_kernel_for("sor", {}, store->shape());
            auto expected = testing::load<double>(*store);
            const double first = residual_of_sor(expected);
            std::uint64_t iterations = 0;
            while (iterations == 0 || residual_of_sor(expected) >= 0.01 * first) {
                for (int i = 0; i < 6; ++i, ++iterations) testing::sor(expected, 1.5, {});
                ASSERT_LT(iterations, 500u);
            }
            ASSERT_GT(iterations, 6u) << "the first pause would do";
            std::vector<std::uint64_t> pauses;
            std::atomic<bool> stop{false};
            RunOptions options;
            options.iterations = 500;
            options.pause_every = 6;
            options.until = *parse_until("residual<0.01*first");
            options.stop = &stop;
            options.paused = [&](const Pause& pause) -> Outcome {
                pauses.push_back(pause.iterations);
                if (stopped && pause.iterations == 6) stop = true;
                return Done{};
            };

            auto report = run(*store, *kernel, options);
            if (stopped) {
                ASSERT_FALSE(report);
                // The condition, its distance and the first residual are in the manifest.
                report = resume(*store, RunOptions{});
            }

            ASSERT_TRUE(report) << report.failure().sentence;
            EXPECT_TRUE(report->converged);
            EXPECT_EQ(store->manifest().iterations, iterations);
            EXPECT_EQ(testing::load<double>(*store).values[0], expected.values[0]);
            EXPECT_EQ(*report->last_measure, residual_of_sor(expected));
            EXPECT_EQ(pauses.size(), stopped ? 1 : iterations / 6);
            const auto again = resume(*store, RunOptions{});
            ASSERT_TRUE(again);
            EXPECT_EQ(again->iterations, 0u);
        }
    }
}

// A snapshot that finds no room, or a process that is killed while it reads the store.
TEST(PausesTest, APauseThatWasNotFinishedIsMadeUpForWhenTheRunIsResumed) {
    for (const std::uint64_t wanted : {20u, 12u}) {
        const Folder folder(Medium::memory);
        auto store = filled_store(folder, places[0]);
        ASSERT_TRUE(store);
        const auto kernel = make_kernel_for("sor", {}, store->shape());
        std::vector<std::uint64_t> pauses;
        RunOptions options;
        options.iterations = wanted;
        options.pause_every = 6;
        options.paused = [&](const Pause& pause) -> Outcome {
            pauses.push_back(pause.iterations);
            return pauses.size() == 2 ? Outcome(Failure{LW_ERR_IO, "no room"}) : Done{};
        };

        ASSERT_FALSE(run(*store, *kernel, options));
        const auto rest = resume(*store, options);

        ASSERT_TRUE(rest) << rest.failure().sentence;
        EXPECT_EQ(store->manifest().iterations, wanted);
        const std::vector<std::uint64_t> to_12{6, 12, 12};
        EXPECT_EQ(pauses, wanted == 12 ? to_12 : (std::vector<std::uint64_t>{6, 12, 12, 18, 20}));
        const auto again = resume(*store, options);
        ASSERT_TRUE(again);
        EXPECT_EQ(pauses.size(), wanted == 12 ? 3u : 5u);
    }
}

TEST(PausesTest, ARunWithSnapshotsIsNotResumedByWhoDoesNotWriteThem) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, places[0]);
    ASSERT_TRUE(store);
    RunOptions options;
    options.iterations = 20;
    options.pause_every = 6;
    options.snapshots = folder / "snapshots";
    options.paused = [](const Pause&) -> Outcome { return Failure{LW_ERR_IO, "no room"}; };
    ASSERT_FALSE(run(*store, *make_kernel_for("sor", {}, store->shape()), options));

    const auto rest = resume(*store, RunOptions{});

    ASSERT_FALSE(rest);
    EXPECT_THAT(rest.failure().sentence, ::testing::HasSubstr("lanewise wavefront resume"));
    EXPECT_TRUE(store->manifest().run->pause->pending);
}

TEST(PausesTest, ANaNInACornerThatNoCellReadsIsNoChange) {
    for (const auto& place : places) {
        const Folder folder(Medium::memory);
        auto store = filled_store(folder, place);
        ASSERT_TRUE(store);
        ASSERT_TRUE(write_ones_and_a_nan(*store, 0, 49));
        RunOptions options;
        options.iterations = 4000;
        options.tolerance = 1e-3;

        const auto report = run(*store, *make_kernel_for("sor", {}, store->shape()), options);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_TRUE(report->converged) << place.layout->name << ", tiles " << place.tile_columns;
    }
}

TEST(PausesTest, AConditionIsAskedAgainWhereTheRunEndedBeforeItCounted) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, places[0]);
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    RunOptions options;
    options.iterations = 500;
    options.pause_every = 6;
    options.until = *parse_until("residual<1e9");  // the first pause will do
    options.paused = [](const Pause&) -> Outcome { return Failure{LW_ERR_IO, "no room"}; };

    ASSERT_FALSE(run(*store, *kernel, options));
    const auto rest = resume(*store, RunOptions{});

    ASSERT_TRUE(rest);
    EXPECT_TRUE(rest->converged);
    EXPECT_EQ(store->manifest().iterations, 6u);
    EXPECT_TRUE(rest->last_measure);
}

TEST(PausesTest, AConditionThatCannotBeMeasuredIsRefusedBeforeTheRun) {
    const Folder folder(Medium::memory);
    auto complex = Store::create(
        folder / "complex", {.rows = 20, .columns = 20, .element = Element::c128, .strip_rows = 8},
        {"u"}, {});
    ASSERT_TRUE(complex && fill_with_demo_values(*complex, 5));
    UserKernel own;
    own.update = [](void *const *, const void *const *, const void *const *, std::int64_t,
                    std::int64_t, std::int64_t, void *) {};
    const auto kernel = make_user_kernel(own, complex->shape());
    ASSERT_TRUE(kernel);
    RunOptions options;
    options.iterations = 4;
    options.pause_every = 2;
    options.until = *parse_until("norm<1");

    const auto report = run(*complex, *kernel, options);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, ::testing::HasSubstr("not of c128"));
    EXPECT_EQ(complex->manifest().iterations, 0u);
    EXPECT_FALSE(complex->manifest().run);
}

TEST(PausesTest, AKernelOfStepsOnlyIsNotMeasured) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, places[1]);
    ASSERT_TRUE(store);
    auto kernel = make_kernel_for("sor", {}, store->shape());
    ASSERT_TRUE(kernel);
    kernel->turned = {};
    RunOptions options;
    options.pause_every = 1;
    options.until = *parse_until("norm<1");

    const auto report = run(*store, *kernel, options);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, ::testing::HasSubstr("row by row"));
    EXPECT_FALSE(store->manifest().run);
}

TEST(PausesTest, WhatIsInfiniteAndStaysLeavesNoResidual) {
    const Folder folder(Medium::memory);
    auto store = filled_store(folder, places[0]);
    ASSERT_TRUE(store);
    const auto infinite = std::numeric_limits<double>::infinity();
    for (std::uint32_t m = 0; m < 2; ++m) {
        const auto written = write_matrix(
            *store, m, [&](std::uint64_t, std::uint64_t count, std::byte *rows) -> Outcome {
                std::fill_n(reinterpret_cast<double *>(rows), count * 50, infinite);
                return Done{};
            });
        ASSERT_TRUE(written);
    }
    const auto kernel = make_kernel_for("eikonal", {}, store->shape());

    EXPECT_EQ(*measure(*store, *kernel, Measure::residual, 0), 0.0);
}

TEST(PausesTest, WhatIsNoNumberStaysWhateverFollowsIt) {
    for (const auto& place : places) {
        const Folder folder(Medium::memory);
        auto store = filled_store(folder, place);
        ASSERT_TRUE(store);
        ASSERT_TRUE(write_ones_and_a_nan(*store, 20, 7));
        const auto kernel = make_kernel_for("sor", {}, store->shape());

        for (const auto what : {Measure::max, Measure::min, Measure::sum, Measure::norm})
            EXPECT_TRUE(std::isnan(*measure(*store, *kernel, what, 0)));
    }
}

TEST(PausesTest, ConditionsAreReadAndWritten) {
    for (const std::string text :
         {"residual<1e-08", "norm<2", "max<-3.5", "max<-1024.03125", "residual<1e-08*first",
          "residual<=max(1e-08*first,1e-12)", "residual<=max(0,1e-12)"}) {
        const auto until = parse_until(text);
        ASSERT_TRUE(until) << text;
        EXPECT_EQ(until->relative, text.find("*first") != std::string::npos) << text;
        const auto again = parse_until(until_text(*until));
        ASSERT_TRUE(again) << until_text(*until);
        EXPECT_EQ(again->value, until->value);
        EXPECT_EQ(again->relative, until->relative);
        EXPECT_EQ(again->atol, until->atol);
        EXPECT_EQ(until->atol.has_value(), text.find("max(") != std::string::npos);
        EXPECT_EQ(again->measure, until->measure);
    }
    for (const auto *text :
         {"", "residual", "residual<", "residual>1", "residual<x", "wave<1", "residual<1*last",
          "residual<nan", "residual<=1", "residual<=max(1)", "residual<=max(1,x)",
          "residual<=max(1,2", "residual<+-1", "residual<++1", "residual<1e400", "residual<0,5"})
        EXPECT_FALSE(parse_until(text)) << text;
    EXPECT_EQ(parse_until("residual< +1e-3")->value, 1e-3);
    EXPECT_EQ(parse_until("residual<1e-400")->value, 0.0);
}

TEST(PausesTest, AShareOfAnInfiniteFirstMeasureIsNoBound) {
    const double infinite = std::numeric_limits<double>::infinity();
    const Until share{.measure = Measure::residual, .value = 1e-6, .relative = true};
    auto within = share;
    within.atol = 0.5;
    EXPECT_TRUE(is_met(share, 1e-7, 1.0));
    EXPECT_FALSE(is_met(share, 1e-7, infinite));
    EXPECT_FALSE(is_met(share, infinite, infinite));
    EXPECT_TRUE(is_met(within, 0.25, infinite));
    EXPECT_FALSE(is_met(within, 0.75, infinite));
}

}  // namespace
}  // namespace lanewise::wavefront
