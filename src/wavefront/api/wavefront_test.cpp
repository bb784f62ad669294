// SPDX-License-Identifier: BSD-3-Clause
//
// The C API as a user's program calls it: kernels of one's own against loops of
// one's own, and what bad calls get.

#include <lanewise/wavefront.h>

#include <lanewise/wavefront/half.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wavefront/testing/trial.hpp"

namespace {

using lanewise::wavefront::testing::Folder;
using lanewise::wavefront::testing::Medium;
using ::testing::HasSubstr;

constexpr std::uint64_t rows = 61;
constexpr std::uint64_t columns = 37;

struct Array {
    std::vector<double> values = std::vector<double>(rows * columns);
    double& at(std::uint64_t i, std::uint64_t j) { return values[i * columns + j]; }
};

int fill(void *context, std::uint64_t first, std::uint64_t count, void *to) {
    auto& array = *static_cast<Array *>(context);
    std::memcpy(to, &array.values[first * columns], count * columns * sizeof(double));
    return 0;
}

int take(void *context, std::uint64_t first, std::uint64_t count, const void *from) {
    auto& array = *static_cast<Array *>(context);
    std::memcpy(&array.values[first * columns], from, count * columns * sizeof(double));
    return 0;
}

void remember(void *context, lw_status /*status*/, const char *sentence) {
    *static_cast<std::string *>(context) = sentence;
}

// Eight neighbours at distance two, all that an in-place sweep may read.
void distant_mean(void *const *updated, const void *const *data, const void *const *coefficients,
                  std::int64_t /*row*/, std::int64_t first, std::int64_t end, void * /*context*/) {
    auto *out = static_cast<double *>(updated[0]);
    const auto u = [&](int down, std::int64_t j) {
        return static_cast<const double *>(data[2 + down])[j];
    };
    const auto *c = static_cast<const double *>(coefficients[0]);
    for (std::int64_t j = first; j < end; ++j)
        out[j] = 0.125 * (((u(-2, j - 2) + u(-2, j + 2)) + (u(-1, j + 1) + u(0, j - 1))) +
                          ((u(1, j - 2) + u(0, j + 2)) + (u(2, j - 1) + u(2, j + 2)))) +
                 c[j];
}

void distant_mean_loop(Array& u, Array& c) {
    for (std::uint64_t i = 2; i + 2 < rows; ++i) {
        for (std::uint64_t j = 2; j + 2 < columns; ++j)
            u.at(i, j) = 0.125 * (((u.at(i - 2, j - 2) + u.at(i - 2, j + 2)) +
                                   (u.at(i - 1, j + 1) + u.at(i, j - 1))) +
                                  ((u.at(i + 1, j - 2) + u.at(i, j + 2)) +
                                   (u.at(i + 2, j - 1) + u.at(i + 2, j + 2)))) +
                         c.at(i, j);
    }
}

void reckless(void *const *updated, const void *const * /*data*/,
              const void *const * /*coefficients*/, std::int64_t /*row*/, std::int64_t /*first*/,
              std::int64_t end, void * /*context*/) {
    static_cast<double *>(updated[0])[end] += 1.0;
}

/* Asks to stop in one of the calls of a kernel that changes nothing. */
struct Stopping {
    lw_wavefront *store = nullptr;
    int stops_at = 0;
    int calls = 0;
};
void count_and_stop(void *const * /*updated*/, const void *const * /*data*/,
                    const void *const * /*coefficients*/, std::int64_t /*row*/,
                    std::int64_t /*first*/, std::int64_t /*end*/, void *context) {
    auto& stopping = *static_cast<Stopping *>(context);
    if (++stopping.calls == stopping.stops_at) lw_wavefront_stop(stopping.store);
}

class WavefrontTest : public ::testing::Test {
  protected:
    void SetUp() override {
        lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
        shape.rows = rows;
        shape.columns = columns;
        shape.coefficient_count = 1;
        shape.strip_rows = 6;
        ASSERT_EQ(
            lw_wavefront_create((folder_ / "store").c_str(), &shape, remember, &sentence_, &store_),
            LW_OK)
            << sentence_;
        for (std::size_t i = 0; i < u_.values.size(); ++i) {
            u_.values[i] = lanewise::wavefront::demo_value(1, 0, i, 1, 0);
            c_.values[i] = lanewise::wavefront::demo_value(1, 1, i, 1, 0);
        }
        ASSERT_EQ(lw_wavefront_write(store_, 0, fill, &u_), LW_OK) << sentence_;
        ASSERT_EQ(lw_wavefront_write(store_, 1, fill, &c_), LW_OK) << sentence_;
    }
    void TearDown() override { lw_wavefront_close(store_); }

    lw_status run_until_stopped(Stopping& stopping, lw_wavefront_run_options options) {
        stopping.store = store_;
        lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
        kernel.update = count_and_stop;
        kernel.context = &stopping;
        options.threads = 1;
        return lw_wavefront_run_kernel(store_, &kernel, &options, nullptr);
    }
    std::uint64_t iterations() const {
        std::uint64_t done = 0;
        EXPECT_EQ(lw_wavefront_query(store_, nullptr, &done), LW_OK);
        return done;
    }

    Folder folder_{Medium::memory};
    lw_wavefront *store_ = nullptr;
    std::string sentence_;
    Array u_;
    Array c_;
};

TEST_F(WavefrontTest, AKernelOfOnesOwnGivesTheBitsOfTheLoop) {
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.radius = 2;
    kernel.update = distant_mean;
    kernel.watch_writes = 1;
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 7;
    options.threads = 3;
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;

    const auto status = lw_wavefront_run_kernel(store_, &kernel, &options, &outcome);

    ASSERT_EQ(status, LW_OK) << sentence_;
    EXPECT_EQ(outcome.iterations, 7u);
    for (int i = 0; i < 7; ++i) distant_mean_loop(u_, c_);
    Array found;
    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &found), LW_OK) << sentence_;
    EXPECT_EQ(found.values, u_.values);
}

TEST_F(WavefrontTest, AStoreOfTwoMatricesOfDataKeepsEach) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = rows;
    shape.columns = columns;
    shape.data_count = 2;
    shape.coefficient_count = 1;
    lw_wavefront *two = nullptr;
    ASSERT_EQ(lw_wavefront_create((folder_ / "two").c_str(), &shape, remember, &sentence_, &two),
              LW_OK)
        << sentence_;

    Array read;
    EXPECT_EQ(lw_wavefront_write(two, 1, fill, &u_), LW_OK) << sentence_;
    EXPECT_EQ(lw_wavefront_write(two, 2, fill, &c_), LW_OK) << sentence_;
    EXPECT_EQ(lw_wavefront_read(two, 1, take, &read), LW_OK) << sentence_;

    EXPECT_EQ(read.values, u_.values);
    lw_wavefront_close(two);
}

TEST_F(WavefrontTest, AnyRowsOfAMatrixAreRead) {
    std::uint32_t matrix = 0;
    ASSERT_EQ(lw_wavefront_matrix_named(store_, "coefficient0", &matrix), LW_OK) << sentence_;
    for (std::uint64_t first = 0; first <= rows; ++first) {
        for (std::uint64_t count = 0; count <= rows - first; ++count) {
            std::vector<double> found(count * columns + 1, -1.0);

            ASSERT_EQ(lw_wavefront_read_rows(store_, matrix, first, count, found.data()), LW_OK)
                << sentence_;

            EXPECT_EQ(found.back(), -1.0) << "written past the rows";
            found.pop_back();
            const auto begin = c_.values.begin() + static_cast<std::ptrdiff_t>(first * columns);
            EXPECT_TRUE(std::equal(found.begin(), found.end(), begin)) << first << " " << count;
        }
    }
}

TEST_F(WavefrontTest, AnArgumentThatIsNullIsRefusedBySentence) {
    double parameter = 1.0;
    std::uint32_t matrix = 0;
    lw_wavefront *other = nullptr;
    lw_wavefront_plan plan = LW_WAVEFRONT_PLAN;
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    const auto says = [&](lw_status status, const char *name) {
        EXPECT_EQ(status, LW_ERR_ARGUMENT);
        EXPECT_EQ(std::exchange(sentence_, ""), std::string(name) + " must not be NULL");
    };

    says(lw_wavefront_create(nullptr, &shape, remember, &sentence_, &other), "folder");
    says(lw_wavefront_create("f", &shape, remember, &sentence_, nullptr), "store");
    says(lw_wavefront_create_in_memory(&shape, nullptr, remember, &sentence_, nullptr), "store");
    says(lw_wavefront_open(nullptr, remember, &sentence_, &other), "folder");
    says(lw_wavefront_open_reading("f", remember, &sentence_, nullptr), "store");
    says(lw_wavefront_write(store_, 0, nullptr, nullptr), "source");
    says(lw_wavefront_read(store_, 0, nullptr, nullptr), "sink");
    says(lw_wavefront_read_rows(store_, 0, 0, 1, nullptr), "rows");
    says(lw_wavefront_matrix_named(store_, nullptr, &matrix), "name");
    says(lw_wavefront_matrix_named(store_, "f", nullptr), "matrix");
    says(lw_wavefront_convert(store_, nullptr, &shape, 0, nullptr, nullptr), "folder");
    says(lw_wavefront_split(store_, 1, nullptr, 2, nullptr, nullptr), "folders");
    says(lw_wavefront_join(&store_, 1, nullptr, nullptr, nullptr), "folder");
    says(lw_wavefront_run(store_, nullptr, &parameter, 1, nullptr, nullptr), "name");
    says(lw_wavefront_run(store_, "sor", nullptr, 1, nullptr, nullptr), "parameters");
    says(lw_wavefront_run_kernel(store_, nullptr, nullptr, nullptr), "kernel");
    says(lw_wavefront_resume_kernel(store_, nullptr, nullptr, nullptr), "kernel");
    says(lw_wavefront_plan_run(&shape, nullptr, nullptr, 0, nullptr, remember, &sentence_, &plan),
         "name");
    says(lw_wavefront_plan_run(&shape, "sor", nullptr, 1, nullptr, remember, &sentence_, &plan),
         "parameters");
    says(lw_wavefront_plan_run(&shape, "sor", nullptr, 0, nullptr, remember, &sentence_, nullptr),
         "plan");
    says(lw_wavefront_plan_run_kernel(&shape, nullptr, nullptr, remember, &sentence_, &plan),
         "kernel");
    says(lw_wavefront_plan_run_kernel(&shape, &kernel, nullptr, remember, &sentence_, nullptr),
         "plan");
    EXPECT_EQ(other, nullptr);
}

TEST_F(WavefrontTest, PartsAreJoinedToTheStoreThatTheyWereCutFrom) {
    const std::string names[] = {folder_ / "part.0", folder_ / "part.1", folder_ / "part.2"};
    const char *const folders[] = {names[0].c_str(), names[1].c_str(), names[2].c_str()};
    std::uint64_t moved_bytes[2] = {};
    const auto note = [](void *context, std::uint64_t done, std::uint64_t wanted) {
        auto *bytes = static_cast<std::uint64_t *>(context);
        bytes[0] = done;
        bytes[1] = wanted;
    };

    ASSERT_EQ(lw_wavefront_split(store_, 2, folders, 3, note, moved_bytes), LW_OK) << sentence_;

    EXPECT_EQ(moved_bytes[0], 2 * (rows + 2 * 4) * columns * sizeof(double));
    EXPECT_EQ(moved_bytes[0], moved_bytes[1]);
    std::vector<lw_wavefront *> parts(3);
    for (std::size_t rank = 0; rank < 3; ++rank)
        ASSERT_EQ(lw_wavefront_open_reading(folders[rank], remember, &sentence_, &parts[rank]),
                  LW_OK)
            << sentence_;
    ASSERT_EQ(lw_wavefront_join(parts.data(), 3, (folder_ / "joined").c_str(), note, moved_bytes),
              LW_OK)
        << sentence_;
    EXPECT_EQ(moved_bytes[0], 2 * rows * columns * sizeof(double));
    for (auto *part : parts) lw_wavefront_close(part);
    lw_wavefront *joined = nullptr;
    ASSERT_EQ(lw_wavefront_open((folder_ / "joined").c_str(), remember, &sentence_, &joined), LW_OK)
        << sentence_;
    Array found;
    EXPECT_EQ(lw_wavefront_read(joined, 0, take, &found), LW_OK) << sentence_;
    EXPECT_EQ(found.values, u_.values);
    EXPECT_EQ(lw_wavefront_read(joined, 1, take, &found), LW_OK) << sentence_;
    EXPECT_EQ(found.values, c_.values);
    lw_wavefront_close(joined);
}

TEST_F(WavefrontTest, ASplitThatIsStoppedOrCannotBeLeavesNothing) {
    const std::string names[] = {folder_ / "part.0", folder_ / "part.1"};
    const char *const folders[] = {names[0].c_str(), names[1].c_str()};
    const auto end = [](void *store, std::uint64_t /*done*/, std::uint64_t /*wanted*/) {
        lw_wavefront_stop(static_cast<lw_wavefront *>(store));
    };

    EXPECT_EQ(lw_wavefront_split(store_, 1, folders, 2, end, store_), LW_ERR_OPERATION);
    EXPECT_EQ(lw_wavefront_split(store_, 1, folders, 0, nullptr, nullptr), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("no parts to cut it into"));
    for (const auto radius : {31ul, std::numeric_limits<std::uint64_t>::max() / 2 + 1}) {
        EXPECT_EQ(lw_wavefront_split(store_, radius, folders, 2, nullptr, nullptr),
                  LW_ERR_ARGUMENT);
        EXPECT_THAT(sentence_, HasSubstr("61 rows are too few for 2 parts"));
    }

    for (const auto& name : names) EXPECT_FALSE(std::filesystem::exists(name));
}

TEST_F(WavefrontTest, RowsAndMatricesThatThereAreNotAreRefused) {
    Array found;
    constexpr auto far = std::numeric_limits<std::uint64_t>::max();
    for (const auto& [first, count] : {std::pair{rows, 1ul}, {rows - 1, 2ul}, {far, 2ul}}) {
        EXPECT_EQ(lw_wavefront_read_rows(store_, 0, first, count, found.values.data()),
                  LW_ERR_ARGUMENT);
        EXPECT_THAT(sentence_, HasSubstr("are not in the matrix; it has 61"));
    }
    EXPECT_EQ(lw_wavefront_read_rows(store_, 2, 0, 1, found.values.data()), LW_ERR_ARGUMENT);
    std::uint32_t matrix = 7;
    EXPECT_EQ(lw_wavefront_matrix_named(store_, "f", &matrix), LW_ERR_NOT_FOUND);
    EXPECT_THAT(sentence_, HasSubstr("no matrix \"f\"; there are data0, coefficient0"));
    EXPECT_EQ(matrix, 7u);
}

TEST_F(WavefrontTest, AKernelThatWritesOutsideItsColumnsIsCaught) {
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.update = reckless;
    kernel.watch_writes = 1;
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;

    const auto status = lw_wavefront_run_kernel(store_, &kernel, &options, nullptr);

    EXPECT_EQ(status, LW_ERR_OPERATION);
    EXPECT_THAT(sentence_, HasSubstr("outside its columns while updating row 1"));
    Array found;
    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &found), LW_OK);
    EXPECT_EQ(found.values, u_.values);
}

TEST_F(WavefrontTest, AKernelWithOtherMatricesIsRefused) {
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;

    EXPECT_EQ(lw_wavefront_run(store_, "livermore23", nullptr, 0, &options, nullptr),
              LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("5 coefficient matrices; the store has 1 and 1"));
}

// What a program gives that was compiled before directions were there.
TEST_F(WavefrontTest, OptionsAndKernelsOfTheFirstVersionAreAccepted) {
    lw_wavefront_run_options older = LW_WAVEFRONT_RUN_OPTIONS;
    older.struct_size = offsetof(lw_wavefront_run_options, directions);
    older.directions = "what lies behind";
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.struct_size = offsetof(lw_wavefront_kernel, update_directed);
    kernel.update_directed = reinterpret_cast<lw_wavefront_directed_row_fn>(&kernel);
    kernel.radius = 2;
    kernel.update = distant_mean;

    EXPECT_EQ(lw_wavefront_run_kernel(store_, &kernel, &older, nullptr), LW_OK) << sentence_;

    older.struct_size -= 8;
    EXPECT_EQ(lw_wavefront_run_kernel(store_, &kernel, &older, nullptr), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("LW_WAVEFRONT_RUN_OPTIONS"));
}

TEST_F(WavefrontTest, AKernelFromBeforeStepsTurnedIsAccepted) {
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.struct_size = offsetof(lw_wavefront_kernel, steps_turn);
    kernel.radius = 2;
    kernel.update = distant_mean;

    EXPECT_EQ(lw_wavefront_run_kernel(store_, &kernel, &options, nullptr), LW_OK) << sentence_;
}

TEST_F(WavefrontTest, WhatIsFilledInHasToBeOfAKnownSize) {
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;
    outcome.struct_size -= 8;
    outcome.iterations = 99;

    EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, &outcome), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("LW_WAVEFRONT_OUTCOME"));
    EXPECT_EQ(outcome.iterations, 99u);

    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.struct_size = 8;
    EXPECT_EQ(lw_wavefront_query(store_, &shape, nullptr), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("LW_WAVEFRONT_SHAPE"));
}

TEST_F(WavefrontTest, AShapeOfTheFirstVersionIsFilledAsFarAsItGoes) {
    lw_wavefront_shape older = LW_WAVEFRONT_SHAPE;
    older.struct_size = offsetof(lw_wavefront_shape, line_columns);
    older.line_columns = 99;

    EXPECT_EQ(lw_wavefront_query(store_, &older, nullptr), LW_OK) << sentence_;

    EXPECT_GT(older.rows, 0u);
    EXPECT_EQ(older.line_columns, 99u);
}

TEST_F(WavefrontTest, ADirectionThatThereIsNotIsRefused) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.directions = "fast-sweping";

    EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(sentence_, "unknown direction \"fast-sweping\"; did you mean fast-sweeping?");
}

TEST_F(WavefrontTest, PeriodicBordersAreWhatLiesInsideOfTheOppositeOnes) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 3;
    options.borders = "periodic";

    ASSERT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_OK) << sentence_;

    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &u_), LW_OK);
    for (std::uint64_t j = 0; j < columns; ++j) {
        EXPECT_EQ(u_.at(0, j), u_.at(rows - 2, j));
        EXPECT_EQ(u_.at(rows - 1, j), u_.at(1, j));
    }
    for (std::uint64_t i = 0; i < rows; ++i) {
        EXPECT_EQ(u_.at(i, 0), u_.at(i, columns - 2));
        EXPECT_EQ(u_.at(i, columns - 1), u_.at(i, 1));
    }
}

TEST_F(WavefrontTest, BordersThatThereAreNotAreRefused) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.borders = "periodc";

    EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(sentence_, "unknown border \"periodc\"; did you mean periodic?");
}

TEST_F(WavefrontTest, ASecondProgramIsKeptOut) {
    lw_wavefront *second = nullptr;

    EXPECT_EQ(lw_wavefront_open((folder_ / "store").c_str(), remember, &sentence_, &second),
              LW_ERR_LIMIT);
    EXPECT_THAT(sentence_, HasSubstr("is being changed by another program"));
}

TEST_F(WavefrontTest, AStoreThatIsChangedIsReadBesideAndNotChangedFromThere) {
    lw_wavefront *reading = nullptr;
    std::string said;
    ASSERT_EQ(lw_wavefront_open_reading((folder_ / "store").c_str(), remember, &said, &reading),
              LW_OK)
        << said;
    // A matrix that is replaced leaves the reader's generation alone.
    ASSERT_EQ(lw_wavefront_write(store_, 0, fill, &c_), LW_OK) << sentence_;
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;

    Array found;
    EXPECT_EQ(lw_wavefront_read(reading, 0, take, &found), LW_OK) << said;
    EXPECT_EQ(found.values, u_.values);
    EXPECT_EQ(lw_wavefront_verify(reading), LW_OK) << said;
    EXPECT_EQ(lw_wavefront_write(reading, 0, fill, &u_), LW_ERR_ARGUMENT);
    EXPECT_THAT(said, HasSubstr("was opened for reading"));
    EXPECT_EQ(lw_wavefront_run(reading, "jacobi", nullptr, 0, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_THAT(said, HasSubstr("was opened for reading"));

    lw_wavefront_close(reading);
}

TEST_F(WavefrontTest, AStopEndsARunAfterTheRowThatIsBeingUpdated) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 32;
    for (const int row : {1, 100, 1003}) {
        Stopping stopping{.stops_at = row};

        EXPECT_EQ(run_until_stopped(stopping, options), LW_ERR_OPERATION);

        EXPECT_EQ(stopping.calls, row);
        EXPECT_THAT(sentence_, HasSubstr("the data of its last whole pass are kept"));
        EXPECT_EQ(iterations(), 0u);
    }
}

TEST_F(WavefrontTest, AStopEndsTheMeasureOfAConditionAfterARow) {
    constexpr int rows_updated = rows - 2;
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.until = "residual<-1";
    options.pause_every = 1;
    Stopping stopping{.stops_at = rows_updated + 23};

    EXPECT_EQ(run_until_stopped(stopping, options), LW_ERR_OPERATION);

    EXPECT_EQ(stopping.calls, rows_updated + 23);
    EXPECT_THAT(sentence_, HasSubstr("the data of its last whole pass are kept"));
    EXPECT_EQ(iterations(), 1u);
}

TEST_F(WavefrontTest, AStopFromAnotherThreadEndsReadingAndChecking) {
    std::atomic<bool> ended{false};
    std::thread stopper([&] {
        while (!ended) lw_wavefront_stop(store_);
    });
    Array found;
    const std::function<lw_status()> acts[] = {
        [&] { return lw_wavefront_verify(store_); },
        [&] { return lw_wavefront_read(store_, 0, take, &found); },
        [&] { return lw_wavefront_read_rows(store_, 0, 0, rows, found.values.data()); },
        [&] { return lw_wavefront_write(store_, 0, fill, &u_); }};
    for (const auto& act : acts) {
        auto status = LW_OK;
        for (int i = 0; i < 100'000 && status == LW_OK; ++i) status = act();
        EXPECT_EQ(status, LW_ERR_OPERATION);
        EXPECT_THAT(sentence_, HasSubstr("stopped before all rows had been moved"));
    }
    ended = true;
    stopper.join();

    EXPECT_EQ(lw_wavefront_verify(store_), LW_OK);
    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &found), LW_OK);
    EXPECT_EQ(found.values, u_.values);
}

TEST_F(WavefrontTest, ReadingInAPauseDoesNotForgetThatTheRunIsToStop) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 4;
    options.pause_every = 2;
    options.paused_context = store_;
    options.paused = [](void *context, std::uint64_t /*iterations*/, double /*measured*/) {
        auto *const store = static_cast<lw_wavefront *>(context);
        lw_wavefront_stop(store);
        std::vector<double> row(columns);
        EXPECT_EQ(lw_wavefront_read_rows(store, 0, 0, 1, row.data()), LW_ERR_OPERATION);
        return 0;
    };
    Stopping stopping;

    EXPECT_EQ(run_until_stopped(stopping, options), LW_ERR_OPERATION);

    EXPECT_EQ(iterations(), 2u);
}

TEST_F(WavefrontTest, WhatACallbackChangesIsRefusedAndTheRunGoesOn) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 6;
    ASSERT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_OK) << sentence_;
    Array undisturbed;
    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &undisturbed), LW_OK);
    ASSERT_EQ(lw_wavefront_write(store_, 0, fill, &u_), LW_OK) << sentence_;
    struct Changing {
        lw_wavefront *store;
        Array *values;
        int refused;
    } changing{store_, &u_, 0};
    const auto change = [](void *context) {
        auto& now = *static_cast<Changing *>(context);
        lw_wavefront_run_options once = LW_WAVEFRONT_RUN_OPTIONS;
        lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
        kernel.update = count_and_stop;
        Stopping none;
        kernel.context = &none;
        now.refused += lw_wavefront_write(now.store, 0, fill, now.values) == LW_ERR_ARGUMENT;
        now.refused +=
            lw_wavefront_run(now.store, "sor", nullptr, 0, &once, nullptr) == LW_ERR_ARGUMENT;
        now.refused +=
            lw_wavefront_run_kernel(now.store, &kernel, &once, nullptr) == LW_ERR_ARGUMENT;
        now.refused += lw_wavefront_resume(now.store, &once, nullptr) == LW_ERR_ARGUMENT;
    };
    static void (*const changed)(void *) = change;
    options.pause_every = 3;
    options.paused_context = &changing;
    options.paused = [](void *context, std::uint64_t /*iterations*/, double /*measured*/) {
        changed(context);
        return 0;
    };

    EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_OK) << sentence_;

    EXPECT_EQ(changing.refused, 2 * 4);
    EXPECT_THAT(sentence_, HasSubstr("what it calls may only read the store"));
    Array found;
    ASSERT_EQ(lw_wavefront_read(store_, 0, take, &found), LW_OK);
    EXPECT_EQ(found.values, undisturbed.values);
    EXPECT_EQ(iterations(), 6u);
}

TEST_F(WavefrontTest, RatesAndNamesThatCannotBeAreRefused) {
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    for (const double rate : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
        options.write_bytes_per_s = rate;
        EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_ERR_ARGUMENT);
        EXPECT_THAT(sentence_, HasSubstr("give one above 0, or 0 where it is not known"));
    }
    options.write_bytes_per_s = 0.0;
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.name = "na\xffme";
    kernel.update = count_and_stop;
    EXPECT_EQ(lw_wavefront_run_kernel(store_, &kernel, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("is not UTF-8"));
}

TEST_F(WavefrontTest, AValueThatIsNotFiniteIsNamedAndTheDataStay) {
    u_.at(20, 5) = std::numeric_limits<double>::quiet_NaN();
    ASSERT_EQ(lw_wavefront_write(store_, 0, fill, &u_), LW_OK);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.check_finite = 1;

    EXPECT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, nullptr), LW_ERR_OPERATION);
    EXPECT_THAT(sentence_, HasSubstr("not finite at row 19, column 5"));
    std::uint64_t iterations = 1;
    ASSERT_EQ(lw_wavefront_query(store_, nullptr, &iterations), LW_OK);
    EXPECT_EQ(iterations, 0u);
}

TEST_F(WavefrontTest, ASweepThatLostItsNumbersNeverConverges) {
    u_.at(20, 5) = std::numeric_limits<double>::quiet_NaN();
    ASSERT_EQ(lw_wavefront_write(store_, 0, fill, &u_), LW_OK);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 5;
    options.tolerance = 1e30;
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;

    ASSERT_EQ(lw_wavefront_run(store_, "sor", nullptr, 0, &options, &outcome), LW_OK);
    EXPECT_EQ(outcome.converged, 0);
    EXPECT_EQ(outcome.iterations, 5u);
}

// One matrix of any element, as vectors.
template <typename Value>
class Values {
  public:
    Values(lw_element element, const char *layout) {
        lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
        shape.element = element;
        shape.layout = layout;
        shape.rows = rows;
        shape.columns = columns;
        shape.strip_rows = 8;
        status_ =
            lw_wavefront_create((folder_ / "store").c_str(), &shape, remember, &sentence_, &store_);
    }
    ~Values() { lw_wavefront_close(store_); }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;

    lw_status write(std::vector<Value> values) {
        const auto give = [](void *context, std::uint64_t first, std::uint64_t count, void *to) {
            const auto& from = *static_cast<std::vector<Value> *>(context);
            std::memcpy(to, &from[first * columns], count * columns * sizeof(Value));
            return 0;
        };
        return lw_wavefront_write(store_, 0, give, &values);
    }
    std::vector<Value> read() {
        std::vector<Value> values(rows * columns);
        EXPECT_EQ(lw_wavefront_read_rows(store_, 0, 0, rows, values.data()), LW_OK) << sentence_;
        return values;
    }
    lw_status run(lw_wavefront_row_fn update, const lw_wavefront_run_options& options,
                  lw_wavefront_outcome *outcome) {
        lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
        kernel.update = update;
        kernel.watch_writes = 1;
        return lw_wavefront_run_kernel(store_, &kernel, &options, outcome);
    }
    lw_wavefront *store() const { return store_; }
    lw_status status() const { return status_; }
    const std::string& sentence() const { return sentence_; }

  private:
    Folder folder_{Medium::memory};
    std::string sentence_;
    lw_wavefront *store_ = nullptr;
    lw_status status_ = LW_OK;
};

// Counts upwards, without a rest, to a number that a double does not tell from those beside it.
constexpr std::int64_t top = (std::int64_t{1} << 60) + 7;

void count_up(void *const *updated, const void *const * /*data*/, const void *const * /*others*/,
              std::int64_t row, std::int64_t first, std::int64_t end, void * /*context*/) {
    auto *out = static_cast<std::int64_t *>(updated[0]);
    for (auto j = first; j < end; ++j) out[j] = std::min(out[j] + 1, top - row);
}

TEST(ElementTest, WholeNumbersComeToRestWhereTheyDoNotChangeHoweverLargeTheyAre) {
    Values<std::int64_t> values(LW_ELEMENT_I64, LW_LAYOUT_ROW_MAJOR);
    ASSERT_EQ(values.status(), LW_OK) << values.sentence();
    ASSERT_EQ(values.write(std::vector<std::int64_t>(rows * columns, top - 100)), LW_OK);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 1000;
    options.tolerance = 0.0;
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;

    ASSERT_EQ(values.run(count_up, options, &outcome), LW_OK) << values.sentence();

    // Row 1 counts 99 times, and rests in the iteration after.
    EXPECT_EQ(outcome.converged, 1);
    EXPECT_EQ(outcome.iterations, 100u);
    EXPECT_EQ(values.read()[columns + 1], top - 1);
    EXPECT_EQ(values.read()[0], top - 100);
}

TEST(ElementTest, TheResidualOfWholeNumbersIsOfTheirDifferences) {
    Values<std::int64_t> values(LW_ELEMENT_I64, LW_LAYOUT_FRONTIER);
    ASSERT_EQ(values.status(), LW_OK) << values.sentence();
    ASSERT_EQ(values.write(std::vector<std::int64_t>(rows * columns, top - 100)), LW_OK);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.iterations = 1000;
    options.until = "residual<0.5";
    options.pause_every = 10;
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;

    ASSERT_EQ(values.run(count_up, options, &outcome), LW_OK) << values.sentence();

    EXPECT_EQ(outcome.converged, 1);
    EXPECT_EQ(outcome.iterations, 100u);
}

// The bits of halves as they lie: each is the one above and half a step.
void half_of_above(void *const *updated, const void *const *data, const void *const * /*others*/,
                   std::int64_t /*row*/, std::int64_t first, std::int64_t end, void * /*context*/) {
    using lanewise::wavefront::half;
    auto *out = static_cast<half *>(updated[0]);
    const auto *above = static_cast<const half *>(data[0]);
    for (auto j = first; j < end; ++j) out[j] = 0.75f * above[j];
}

TEST(ElementTest, HalvesAreRoundedInEachRow) {
    using lanewise::wavefront::half;
    Values<half> values(LW_ELEMENT_F16, LW_LAYOUT_BLOCK);
    ASSERT_EQ(values.status(), LW_OK) << values.sentence();
    ASSERT_EQ(values.write(std::vector<half>(rows * columns, half(1.0f))), LW_OK);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.check_finite = 1;

    ASSERT_EQ(values.run(half_of_above, options, nullptr), LW_OK) << values.sentence();

    half expected = 1.0f;
    const auto found = values.read();
    for (std::uint64_t i = 1; i + 1 < rows; ++i) {
        expected = 0.75f * expected;
        EXPECT_EQ(found[i * columns + 5].bits(), expected.bits()) << i;
    }
}

TEST(ElementTest, AHalfThatIsNotFiniteIsNamed) {
    using lanewise::wavefront::half;
    Values<half> values(LW_ELEMENT_F16, LW_LAYOUT_ROW_MAJOR);
    std::vector<half> given(rows * columns, half(1.0f));
    given[5] = 70000.0f;
    ASSERT_EQ(values.write(given), LW_OK);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    options.check_finite = 1;

    EXPECT_EQ(values.run(half_of_above, options, nullptr), LW_ERR_OPERATION);
    EXPECT_THAT(values.sentence(), HasSubstr("not finite at row 0, column 5"));
}

TEST(ElementTest, KernelsAndLayoutsThatAnElementHasNotAreRefused) {
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    Values<std::int32_t> whole(LW_ELEMENT_I32, LW_LAYOUT_ROW_MAJOR);
    ASSERT_EQ(whole.status(), LW_OK) << whole.sentence();

    EXPECT_EQ(lw_wavefront_run(whole.store(), "sor", nullptr, 0, &options, nullptr),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(whole.sentence(), "sor works on f16, f32 and f64, not i32");
    for (const double gap : {2.5, 0x1p31, -0x1p31 - 1}) {
        EXPECT_EQ(lw_wavefront_run(whole.store(), "smith-waterman", &gap, 1, &options, nullptr),
                  LW_ERR_ARGUMENT);
        EXPECT_EQ(whole.sentence(),
                  "smith-waterman on i32 takes a whole number within its range (gap=2)");
    }
    const Values<std::uint16_t> skewed(LW_ELEMENT_F16, LW_LAYOUT_SKEWED);
    EXPECT_EQ(skewed.status(), LW_ERR_ARGUMENT);
    EXPECT_THAT(skewed.sentence(), HasSubstr("not f16; use the row-major layout"));
    const Values<double> beyond(static_cast<lw_element>(LW_ELEMENT_F16 + 1), LW_LAYOUT_ROW_MAJOR);
    EXPECT_EQ(beyond.sentence(), "unknown element 7");
}

// Each cell is the one above, and its row's value times its column's.
void add_product(void *const *updated, const void *const *data, const void *const *coefficients,
                 std::int64_t /*row*/, std::int64_t first, std::int64_t end, void * /*context*/) {
    const auto of_row = *static_cast<const double *>(coefficients[1]);
    const auto *of_column = static_cast<const double *>(coefficients[2]);
    const auto *above = static_cast<const double *>(data[0]);
    for (auto j = first; j < end; ++j)
        static_cast<double *>(updated[0])[j] = above[j] + of_row * of_column[j];
}

int count_from(void *context, std::uint64_t first, std::uint64_t count, void *to) {
    const auto width = *static_cast<std::uint64_t *>(context);
    for (std::uint64_t n = 0; n < count * width; ++n)
        static_cast<double *>(to)[n] = static_cast<double>(first * width + n);
    return 0;
}

TEST_F(WavefrontTest, CoefficientsByRowAndColumnAreNumberedBehindTheMatrices) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = rows;
    shape.columns = columns;
    shape.coefficient_count = 1;
    shape.row_coefficient_count = 1;
    shape.column_coefficient_count = 1;
    lw_wavefront *store = nullptr;
    ASSERT_EQ(lw_wavefront_create((folder_ / "by").c_str(), &shape, remember, &sentence_, &store),
              LW_OK)
        << sentence_;
    Array zeros;
    EXPECT_EQ(lw_wavefront_write(store, 0, fill, &zeros), LW_OK) << sentence_;
    EXPECT_EQ(lw_wavefront_write(store, 1, fill, &zeros), LW_OK) << sentence_;
    const lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.update = add_product;
    EXPECT_EQ(lw_wavefront_run_kernel(store, &kernel, &options, nullptr), LW_ERR_NOT_FOUND);
    EXPECT_THAT(sentence_, HasSubstr("row0 is empty"));
    std::uint64_t width = 1;
    EXPECT_EQ(lw_wavefront_write(store, 2, count_from, &width), LW_OK) << sentence_;
    width = columns;
    EXPECT_EQ(lw_wavefront_write(store, 3, count_from, &width), LW_OK) << sentence_;

    EXPECT_EQ(lw_wavefront_run_kernel(store, &kernel, &options, nullptr), LW_OK) << sentence_;

    Array found;
    EXPECT_EQ(lw_wavefront_read(store, 0, take, &found), LW_OK) << sentence_;
    for (std::uint64_t i = 1; i + 1 < rows; ++i) {
        for (std::uint64_t j = 1; j + 1 < columns; ++j)
            EXPECT_EQ(found.at(i, j), static_cast<double>(i * (i + 1) / 2 * j));
    }
    std::uint32_t number = 0;
    EXPECT_EQ(lw_wavefront_matrix_named(store, "column0", &number), LW_OK) << sentence_;
    EXPECT_EQ(number, 3u);
    std::vector<double> some(2);
    EXPECT_EQ(lw_wavefront_read_rows(store, 2, 7, 2, some.data()), LW_OK) << sentence_;
    EXPECT_EQ(some, (std::vector<double>{7, 8}));
    EXPECT_EQ(lw_wavefront_read_rows(store, 3, 1, 1, some.data()), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("are not in the matrix; it has 1"));
    EXPECT_EQ(lw_wavefront_run(store, "sor", nullptr, 0, &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("sor reads matrices only"));
    lw_wavefront_shape held = LW_WAVEFRONT_SHAPE;
    EXPECT_EQ(lw_wavefront_query(store, &held, nullptr), LW_OK);
    EXPECT_EQ(held.row_coefficient_count, 1u);
    EXPECT_EQ(held.column_coefficient_count, 1u);
    lw_wavefront_close(store);
}

TEST_F(WavefrontTest, ThreeDimensionsHaveNoCoefficientsByRow) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = 4;
    shape.columns = 20;
    shape.line_columns = 5;
    shape.row_coefficient_count = 1;
    lw_wavefront *store = nullptr;

    EXPECT_EQ(lw_wavefront_create((folder_ / "by").c_str(), &shape, remember, &sentence_, &store),
              LW_ERR_ARGUMENT);
    EXPECT_THAT(sentence_, HasSubstr("coefficients by row or column are for two dimensions"));
}

}  // namespace
