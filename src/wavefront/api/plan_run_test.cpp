// SPDX-License-Identifier: BSD-3-Clause
//
// What the C API does beside sweeps: plans of runs, stores in memory, names, and copies in other
// layouts.

#include <lanewise/wavefront.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "wavefront/testing/trial.hpp"

namespace {

using lanewise::wavefront::testing::Folder;
using lanewise::wavefront::testing::Medium;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t rows = 90;
constexpr std::uint64_t columns = 40;
using Values = std::vector<double>;

int fill(void *context, std::uint64_t first, std::uint64_t count, void *to) {
    const auto& values = *static_cast<Values *>(context);
    std::memcpy(to, &values[first * columns], count * columns * sizeof(double));
    return 0;
}

int take(void *context, std::uint64_t first, std::uint64_t count, const void *from) {
    auto& values = *static_cast<Values *>(context);
    std::memcpy(&values[first * columns], from, count * columns * sizeof(double));
    return 0;
}

void remember(void *context, lw_status /*status*/, const char *sentence) {
    *static_cast<std::string *>(context) = sentence;
}

lw_wavefront_shape shape_of_sor() {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = rows;
    shape.columns = columns;
    shape.coefficient_count = 1;
    shape.strip_rows = 8;
    return shape;
}

Values demo_values(std::uint32_t matrix) {
    Values values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = lanewise::wavefront::demo_value(3, matrix, i, 1, 0);
    return values;
}

class PlanRunTest : public ::testing::Test {
  protected:
    void TearDown() override { lw_wavefront_close(store_); }

    void create(const std::string& name) {
        const auto shape = shape_of_sor();
        ASSERT_EQ(
            lw_wavefront_create((folder_ / name).c_str(), &shape, remember, &sentence_, &store_),
            LW_OK)
            << sentence_;
        fill_both();
    }
    void fill_both() {
        for (const std::uint32_t matrix : {0u, 1u}) {
            auto values = demo_values(matrix);
            ASSERT_EQ(lw_wavefront_write(store_, matrix, fill, &values), LW_OK) << sentence_;
        }
    }
    Values swept(const lw_wavefront_run_options& options) {
        Values values(rows * columns);
        EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, &outcome_), LW_OK)
            << sentence_;
        EXPECT_EQ(lw_wavefront_read(store_, 0, take, &values), LW_OK) << sentence_;
        return values;
    }

    Folder folder_{Medium::memory};
    lw_wavefront *store_ = nullptr;
    lw_wavefront_outcome outcome_ = LW_WAVEFRONT_OUTCOME;
    std::string sentence_;
};

TEST_F(PlanRunTest, APlanSaysWhatARunMoves) {
    create("store");
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 7;
    options.directions = "symmetric";
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    ASSERT_EQ(lw_wavefront_query(store_, &shape, nullptr), LW_OK);
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;

    ASSERT_EQ(
        lw_wavefront_plan_run(&shape, "sor", nullptr, 0, &options, remember, &sentence_, &plan),
        LW_OK)
        << sentence_;
    swept(options);

    EXPECT_EQ(plan.passes, 7u);
    EXPECT_EQ(plan.chain, 1u);
    EXPECT_EQ(plan.read_bytes, outcome_.read_bytes);
    EXPECT_EQ(plan.written_bytes, outcome_.written_bytes);
    EXPECT_EQ(plan.time_s, 0.0) << "no rate is known";
}

TEST_F(PlanRunTest, RatesSayHowLongARunTakesAndHowManyWavesHideTheDisk) {
    const auto shape = shape_of_sor();
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 64;
    options.read_bytes_per_s = 2e6;
    options.write_bytes_per_s = 2e6;
    options.cells_per_s = 1e6;
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;

    ASSERT_EQ(
        lw_wavefront_plan_run(&shape, "sor", nullptr, 0, &options, remember, &sentence_, &plan),
        LW_OK)
        << sentence_;

    // 16 bytes of each cell are read and 8 written.
    EXPECT_EQ(plan.waves_to_hide_disk, 12u);
    EXPECT_NEAR(plan.time_s, 64 * rows * columns / 1e6, 1e-9);
    EXPECT_EQ(plan.disk_bound, 0);
}

TEST_F(PlanRunTest, AKernelOfOnesOwnIsPlannedAndNotCalled) {
    auto shape = shape_of_sor();
    shape.row_coefficient_count = 1;
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.update = [](void *const *, const void *const *, const void *const *, std::int64_t,
                       std::int64_t, std::int64_t, void *) { FAIL() << "it was called"; };
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;

    EXPECT_EQ(lw_wavefront_plan_run_kernel(&shape, &kernel, &options, remember, &sentence_, &plan),
              LW_OK)
        << sentence_;

    EXPECT_EQ(plan.passes, 1u);
}

TEST_F(PlanRunTest, APlanOfAnotherSizeIsLeftAlone) {
    const auto shape = shape_of_sor();
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;
    plan.struct_size += 8;

    EXPECT_EQ(
        lw_wavefront_plan_run(&shape, "sor", nullptr, 0, &options, remember, &sentence_, &plan),
        LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("LW_WAVEFRONT_PLAN"));
    EXPECT_EQ(plan.passes, 0u);
}

TEST_F(PlanRunTest, WhatCannotBeRunIsNotPlanned) {
    auto shape = shape_of_sor();
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.memory_bytes = 1 << 20;
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;
    const auto planned = [&](const char *name) {
        return lw_wavefront_plan_run(&shape, name, nullptr, 0, &options, remember, &sentence_,
                                     &plan);
    };

    EXPECT_EQ(planned("sor"), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("too small for this store; give it --memory "));
    EXPECT_EQ(planned("sro"), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("sro"));
    options.memory_bytes = 1 << 30;
    shape.rows = 0;
    EXPECT_EQ(planned("sor"), LW_ERR_ARGUMENT);
    EXPECT_EQ(plan.waves, 0u) << "it is filled on success only";
}

TEST_F(PlanRunTest, AReportThatThrowsIsToldOnce) {
    const auto shape = shape_of_sor();
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;
    int calls = 0;
    const auto throwing = [](void *context, lw_status /*status*/, const char * /*sentence*/) {
        ++*static_cast<int *>(context);
        throw std::runtime_error("nobody listens");
    };

    EXPECT_THROW(
        lw_wavefront_plan_run(&shape, "sro", nullptr, 0, &options, throwing, &calls, &plan),
        std::runtime_error);
    EXPECT_EQ(calls, 1);
}

TEST_F(PlanRunTest, AStoreInMemoryIsSweptToTheBitsOfOneOnTheDisk) {
    for (const char *directions : {"down-right", "symmetric"}) {
        lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
        options.iterations = 9;
        options.directions = directions;
        options.tolerance = 1e-3;
        create(directions);
        const auto expected = swept(options);
        lw_wavefront_close(store_);
        const auto shape = shape_of_sor();
        ASSERT_EQ(lw_wavefront_create_in_memory(&shape, nullptr, remember, &sentence_, &store_),
                  LW_OK)
            << sentence_;
        fill_both();

        EXPECT_EQ(swept(options), expected);
        EXPECT_EQ(lw_wavefront_verify(store_), LW_OK) << sentence_;
        lw_wavefront_close(store_);
        store_ = nullptr;
    }
}

TEST_F(PlanRunTest, AnEmptyMatrixInMemorySaysSo) {
    const auto shape = shape_of_sor();
    ASSERT_EQ(lw_wavefront_create_in_memory(&shape, nullptr, remember, &sentence_, &store_), LW_OK);
    double value = 0.0;

    EXPECT_EQ(lw_wavefront_read_rows(store_, 1, 0, 1, &value), LW_ERR_NOT_FOUND);

    EXPECT_THAT(sentence_, HasSubstr("the store in memory: matrix coefficient0 is empty"));
}

TEST_F(PlanRunTest, CoefficientsByRowAreKeptInMemory) {
    auto shape = shape_of_sor();
    shape.column_coefficient_count = 1;
    const char *const names[] = {"u", "f", "weights"};
    ASSERT_EQ(lw_wavefront_create_in_memory(&shape, names, remember, &sentence_, &store_), LW_OK)
        << sentence_;
    auto values = demo_values(2);
    std::vector<double> found(columns);

    for (int time = 0; time < 2; ++time) {
        values[0] = time;
        ASSERT_EQ(lw_wavefront_write(store_, 2, fill, &values), LW_OK) << sentence_;
        ASSERT_EQ(lw_wavefront_read_rows(store_, 2, 0, 1, found.data()), LW_OK) << sentence_;
        EXPECT_EQ(found, Values(values.begin(), values.begin() + columns));
    }
}

TEST_F(PlanRunTest, MatricesHaveTheNamesThatAreGiven) {
    const auto shape = shape_of_sor();
    const char *const names[] = {"u", "f"};
    ASSERT_EQ(lw_wavefront_create_named((folder_ / "s").c_str(), &shape, names, remember,
                                        &sentence_, &store_),
              LW_OK)
        << sentence_;
    std::uint32_t number = 9;

    EXPECT_STREQ(lw_wavefront_matrix_name(store_, 0), "u");
    EXPECT_STREQ(lw_wavefront_matrix_name(store_, 1), "f");
    EXPECT_EQ(lw_wavefront_matrix_name(store_, 2), nullptr);
    EXPECT_EQ(lw_wavefront_matrix_named(store_, "f", &number), LW_OK);
    EXPECT_EQ(number, 1u);
}

TEST_F(PlanRunTest, AStoreIsCopiedIntoAnotherLayoutWithAllItHolds) {
    create("store");
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 3;
    const auto expected = swept(options);
    lw_wavefront_shape wanted = LW_WAVEFRONT_SHAPE;
    wanted.layout = LW_LAYOUT_SKEWED;
    wanted.strip_rows = 16;
    std::vector<std::uint64_t> moved;

    ASSERT_EQ(lw_wavefront_convert(
                  store_, (folder_ / "copy").c_str(), &wanted, 1 << 30,
                  [](void *context, std::uint64_t done, std::uint64_t all) {
                      static_cast<std::vector<std::uint64_t> *>(context)->push_back(done);
                      EXPECT_EQ(all, 2 * rows * columns * sizeof(double));
                  },
                  &moved),
              LW_OK)
        << sentence_;

    EXPECT_EQ(moved.size(), 2u * 6u);
    EXPECT_EQ(moved.back(), 2 * rows * columns * sizeof(double));
    lw_wavefront_close(store_);
    ASSERT_EQ(lw_wavefront_open((folder_ / "copy").c_str(), remember, &sentence_, &store_), LW_OK);
    lw_wavefront_shape found = LW_WAVEFRONT_SHAPE;
    std::uint64_t iterations = 0;
    ASSERT_EQ(lw_wavefront_query(store_, &found, &iterations), LW_OK);
    EXPECT_STREQ(found.layout, LW_LAYOUT_SKEWED);
    EXPECT_EQ(found.strip_rows, 16u);
    EXPECT_EQ(iterations, 3u);
    Values values(rows * columns);
    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &values), LW_OK) << sentence_;
    EXPECT_EQ(values, expected);
}

TEST_F(PlanRunTest, ACopyThatIsStoppedLeavesNothing) {
    create("store");
    lw_wavefront_shape wanted = LW_WAVEFRONT_SHAPE;

    EXPECT_EQ(lw_wavefront_convert(
                  store_, (folder_ / "copy").c_str(), &wanted, 1 << 30,
                  [](void *context, std::uint64_t, std::uint64_t) {
                      lw_wavefront_stop(static_cast<lw_wavefront *>(context));
                  },
                  store_),
              LW_ERR_OPERATION);

    EXPECT_FALSE(std::filesystem::exists(folder_ / "copy"));
    wanted.strip_rows = 12;
    wanted.layout = LW_LAYOUT_SKEWED;
    EXPECT_EQ(lw_wavefront_convert(store_, (folder_ / "copy").c_str(), &wanted, 1 << 30, nullptr,
                                   nullptr),
              LW_ERR_ARGUMENT);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "copy"));
}

// As the solvers of SciPy: the larger of a share of the first residual and a value.
TEST_F(PlanRunTest, ARunEndsOnceItsResidualIsWithinTheTolerances) {
    create("store");
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    std::vector<double> residuals;
    options.iterations = 400;
    options.pause_every = 1;
    options.paused_context = &residuals;
    options.paused = [](void *context, std::uint64_t, double measured) {
        static_cast<std::vector<double> *>(context)->push_back(measured);
        return 0;
    };
    const auto ended = [&](double rtol, double atol) {
        fill_both();
        residuals.clear();
        options.rtol = rtol;
        options.atol = atol;
        swept(options);
        EXPECT_EQ(outcome_.converged, 1);
        EXPECT_EQ(outcome_.iterations, residuals.size());
        return outcome_.iterations;
    };

    const auto by_share = ended(1e-2, 0.0);
    const auto bound = residuals.back();
    ASSERT_GT(by_share, 2u);
    EXPECT_GT(residuals[by_share - 2], bound);
    EXPECT_EQ(ended(0.0, bound), by_share) << "no more than the bound is enough";
    EXPECT_EQ(ended(1e-2, 1e-9), by_share) << "the larger one counts";
    EXPECT_LT(ended(1e-2, 10 * bound), by_share);
}

TEST_F(PlanRunTest, ARunWithACallbackOrAConditionPausesEvery32Iterations) {
    create("store");
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    std::vector<std::uint64_t> asked;
    options.iterations = 100;
    options.paused_context = &asked;
    options.paused = [](void *context, std::uint64_t iterations, double) {
        static_cast<std::vector<std::uint64_t> *>(context)->push_back(iterations);
        return 0;
    };
    swept(options);
    EXPECT_THAT(std::exchange(asked, {}), ElementsAre(32u, 64u, 96u, 100u));

    options.until = "residual<1e-300";
    swept(options);
    EXPECT_THAT(std::exchange(asked, {}), ElementsAre(32u, 64u, 96u, 100u));

    options.until = nullptr;
    options.atol = 1e-300;
    swept(options);
    EXPECT_THAT(asked, ElementsAre(32u, 64u, 96u, 100u));
}

TEST_F(PlanRunTest, TolerancesThatCannotBeAreRefused) {
    create("store");
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.pause_every = 1;
    const auto refused = [&](double rtol, double atol) {
        options.rtol = rtol;
        options.atol = atol;
        EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_ERR_ARGUMENT);
        return sentence_;
    };

    EXPECT_EQ(refused(-1e-3, 0.0), "rtol -0.001000 is not 0 or above");
    EXPECT_THAT(refused(1.0, 0.0), HasSubstr("is met before the first iteration"));
    EXPECT_THAT(refused(0.0, std::nan("")), HasSubstr("atol nan is not 0 or above"));
    options.until = "residual<1";
    EXPECT_THAT(refused(0.0, 1.0), HasSubstr("give one of them"));
}

// What a program gives that was compiled by version 0.2.0.
TEST_F(PlanRunTest, OptionsOfTheVersionBeforeRtolAreAccepted) {
    create("store");
    lw_wavefront_run_options older = LW_WAVEFRONT_RUN_OPTIONS;
    older.struct_size = offsetof(lw_wavefront_run_options, rtol);
    older.rtol = -1.0;

    EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &older, nullptr), LW_OK) << sentence_;
}

}  // namespace
